# Built with everything else, run by hand or by scripts/bench; figures count only in a release build.
add_executable(bench_sends ${CMAKE_CURRENT_LIST_DIR}/bench_sends.c)
target_link_libraries(bench_sends PRIVATE mod_store mailshot_flags)
