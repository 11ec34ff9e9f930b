# Cost of documents: bench_docs [contacts [folder]].
add_executable(bench_docs ${CMAKE_CURRENT_LIST_DIR}/bench_docs.c)
target_link_libraries(bench_docs PRIVATE mod_store mailshot_flags)
