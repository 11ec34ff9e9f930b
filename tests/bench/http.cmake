# Built with everything else, run by hand or by scripts/bench; figures count only in a release build.
add_executable(bench_http ${CMAKE_CURRENT_LIST_DIR}/bench_http.c)
target_link_libraries(bench_http PRIVATE mod_http mailshot_flags)
