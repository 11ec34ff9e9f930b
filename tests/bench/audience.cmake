# Cost of audiences: bench_audience [contacts [folder]]. Figures count only in a release build.
add_executable(bench_audience ${CMAKE_CURRENT_LIST_DIR}/bench_audience.c)
target_link_libraries(bench_audience PRIVATE mod_audience mod_crypto mailshot_flags)
