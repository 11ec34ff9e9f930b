# The resources of the API over an engine in the same process.
set(api_tool ${PROJECT_SOURCE_DIR}/tests/support/api_tool.c
    ${PROJECT_SOURCE_DIR}/tests/support/engine.c)
foreach(name IN ITEMS contacts templates broadcasts rows house)
    mailshot_test(unit api_${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_api_${name}.c ${api_tool} MODULES api)
endforeach()
mailshot_test(unit api_routes SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_api_routes.c MODULES api)
