# mailshot_scenario(<name> <file> [<argument>...])
# A program in Python that runs the real daemon and the real sink, in a scratch folder of its own.
function(mailshot_scenario name file)
    set(scratch ${CMAKE_BINARY_DIR}/scratch/scenario.${name})
    file(MAKE_DIRECTORY ${scratch})
    add_test(NAME scenario.${name} COMMAND python3 ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${file} ${ARGN})
    set_tests_properties(scenario.${name} PROPERTIES TIMEOUT 240 LABELS scenario
        WORKING_DIRECTORY ${scratch}
        ENVIRONMENT "MAILSHOT_BUILD_DIR=${CMAKE_BINARY_DIR};MAILSHOT_TEST_DIR=${scratch};PYTHONDONTWRITEBYTECODE=1")
endfunction()

# kill -9 at random moments: FOLDER ROUNDS SEED CONTACTS. One entry a round, so that each stays short.
foreach(seed 1 2 3 4 5)
    mailshot_scenario(kill_${seed} test_kill.py . 1 ${seed} 5000)
endforeach()
mailshot_scenario(crash test_crash.py)
mailshot_scenario(storm test_storm.py)
mailshot_scenario(outages test_outages.py)
mailshot_scenario(replies test_replies.py)
mailshot_scenario(pause test_pause.py)
mailshot_scenario(disk test_disk.py)
mailshot_scenario(copy test_copy.py)
mailshot_scenario(content test_content.py)
mailshot_scenario(optout test_optout.py)
mailshot_scenario(paging test_paging.py)
mailshot_scenario(agent test_agent.py)
mailshot_scenario(import test_import.py)
mailshot_scenario(schedule test_schedule.py)
mailshot_scenario(oneoff test_oneoff.py)
