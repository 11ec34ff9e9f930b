foreach(name IN ITEMS ledger demo_parts)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c MODULES cli)
endforeach()
