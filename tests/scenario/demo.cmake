# The demo and the sub-commands, run as people run them.
foreach(name IN ITEMS demo tools)
    set(scratch ${CMAKE_BINARY_DIR}/scratch/scenario.${name})
    file(MAKE_DIRECTORY ${scratch})
    add_test(NAME scenario.${name} COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py)
    set_tests_properties(scenario.${name} PROPERTIES TIMEOUT 300 LABELS scenario
        WORKING_DIRECTORY ${scratch}
        ENVIRONMENT "MAILSHOT_BUILD_DIR=${CMAKE_BINARY_DIR};MAILSHOT_TEST_DIR=${scratch};PYTHONDONTWRITEBYTECODE=1")
endforeach()
