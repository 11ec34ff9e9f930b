foreach(name IN ITEMS loop loop_timer loop_mailbox workers)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c MODULES loop)
endforeach()
