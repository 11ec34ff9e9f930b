# The process itself: its build is told that the clock may be stepped, or that test is left out.
add_test(NAME scenario.daemon COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/test_daemon.py)
set(scratch ${CMAKE_BINARY_DIR}/scratch/scenario.daemon)
file(MAKE_DIRECTORY ${scratch})
set_tests_properties(scenario.daemon PROPERTIES TIMEOUT 300 LABELS scenario
    ENVIRONMENT "MAILSHOT_TEST_DIR=${scratch};MAILSHOT_BUILD_DIR=${CMAKE_BINARY_DIR};MAILSHOT_TEST_CLOCK=$<BOOL:${MAILSHOT_TEST_CLOCK}>;PYTHONDONTWRITEBYTECODE=1")
