foreach(name IN ITEMS public public_journal engagement)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c
        ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c
        ${PROJECT_SOURCE_DIR}/tests/support/engine.c
        ${PROJECT_SOURCE_DIR}/tests/support/public_world.c
        MODULES public feedback broadcast send http)
endforeach()
mailshot_test(unit engagement_verdict SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_engagement_verdict.c
    MODULES feedback)
mailshot_test(unit journal SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_journal.c MODULES feedback)
