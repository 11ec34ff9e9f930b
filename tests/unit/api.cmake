mailshot_test(unit api_pure SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_api_pure.c MODULES api)
target_include_directories(test_unit_api_pure PRIVATE ${PROJECT_SOURCE_DIR}/tests)
foreach(name IN ITEMS api api_calls)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c
        ${PROJECT_SOURCE_DIR}/tests/support/api_routes.c
        ${PROJECT_SOURCE_DIR}/tests/support/api_world.c
        ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c
        ${PROJECT_SOURCE_DIR}/tests/contract/drivers.c MODULES api)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
