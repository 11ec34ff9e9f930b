set(world ${PROJECT_SOURCE_DIR}/tests/support/template_world.c)
foreach(name IN ITEMS template template_helpers links links_text html_scan value)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${world}
        MODULES message)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
