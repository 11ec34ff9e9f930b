foreach(name IN ITEMS smtp_replies smtp_setup smtp_trouble)
    mailshot_test(peer ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${CMAKE_CURRENT_LIST_DIR}/driver.c
            ${CMAKE_CURRENT_LIST_DIR}/peer.c
        MODULES transport)
endforeach()
mailshot_test(peer capture SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_capture.c MODULES transport)
