mailshot_test(unit http_pure SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_http_pure.c MODULES http)
target_include_directories(test_unit_http_pure PRIVATE ${PROJECT_SOURCE_DIR}/tests)
foreach(name IN ITEMS http http_framing http_wait)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c
        ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c
        ${PROJECT_SOURCE_DIR}/tests/support/http_world.c MODULES http)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
