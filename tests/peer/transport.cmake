foreach(name IN ITEMS smtp_replies smtp_setup smtp_trouble)
    mailshot_test(peer ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${CMAKE_CURRENT_LIST_DIR}/driver.c
            ${CMAKE_CURRENT_LIST_DIR}/peer.c
        MODULES transport)
endforeach()
mailshot_test(peer http_client
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_http_client.c ${CMAKE_CURRENT_LIST_DIR}/peer.c
    MODULES net)
mailshot_test(peer capture SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_capture.c MODULES transport)
mailshot_test(peer smtp_pool SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_smtp_pool.c MODULES transport)
target_compile_definitions(test_peer_smtp_pool PRIVATE SMTP_SINK="$<TARGET_FILE:smtp_sink>")
add_dependencies(test_peer_smtp_pool smtp_sink)
