mailshot_test(unit api_pure SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_api_pure.c MODULES api)
mailshot_test(unit api SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_api.c
    ${PROJECT_SOURCE_DIR}/tests/support/api_world.c
    ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c
    ${PROJECT_SOURCE_DIR}/tests/contract/drivers.c MODULES api)
foreach(name IN ITEMS api_pure api)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
