set(support ${PROJECT_SOURCE_DIR}/tests/support)
foreach(name IN ITEMS address mime_body mime_build mime_text tokens)
    mailshot_test(unit ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${support}/mime_reader.c
        MODULES message)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()

mailshot_test(unit dkim
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_dkim.c ${support}/dkim_verifier.c
        ${support}/mime_reader.c
    MODULES message LIBS PkgConfig::openssl)
target_include_directories(test_unit_dkim PRIVATE ${PROJECT_SOURCE_DIR}/tests)

# The messages that unit.dkim signs are read again by dkimpy (Debian: python3-dkim), where it exists.
execute_process(COMMAND /usr/bin/python3 -c "import dkim, nacl"
    RESULT_VARIABLE no_dkimpy OUTPUT_QUIET ERROR_QUIET)
if(no_dkimpy EQUAL 0)
    add_test(NAME unit.dkim_check COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/dkim_check.py
        ${CMAKE_BINARY_DIR}/scratch/unit.dkim)
    set_tests_properties(unit.dkim PROPERTIES FIXTURES_SETUP signed_messages)
    set_tests_properties(unit.dkim_check PROPERTIES LABELS unit TIMEOUT 60
        FIXTURES_REQUIRED signed_messages)
endif()
