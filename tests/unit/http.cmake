mailshot_test(unit http_pure SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_http_pure.c MODULES http)
mailshot_test(unit http SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_http.c
    ${PROJECT_SOURCE_DIR}/tests/support/http_raw.c MODULES http)
foreach(name IN ITEMS http_pure http)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
