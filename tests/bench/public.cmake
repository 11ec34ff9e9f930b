# Built with everything else, run by hand or by scripts/bench; figures count only in a release build.
add_executable(bench_public ${CMAKE_CURRENT_LIST_DIR}/bench_public.c
    ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c
    ${PROJECT_SOURCE_DIR}/tests/support/engine.c
    ${PROJECT_SOURCE_DIR}/tests/support/public_world.c)
target_include_directories(bench_public PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(bench_public PRIVATE mod_public mod_feedback mod_broadcast mod_send mod_http
    mailshot_flags PkgConfig::check)
