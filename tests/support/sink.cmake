add_executable(smtp_sink
    ${CMAKE_CURRENT_LIST_DIR}/sink.c
    ${CMAKE_CURRENT_LIST_DIR}/sink_mail.c
    ${CMAKE_CURRENT_LIST_DIR}/sink_rules.c
    ${CMAKE_CURRENT_LIST_DIR}/sink_session.c)
target_link_libraries(smtp_sink PRIVATE mod_base)
