foreach(name IN ITEMS smtp_reply reply_class pace)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c MODULES transport)
endforeach()
