# Edge tables against their document, and the query plans of the typed records.
mailshot_test(unit edges SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_edges.c MODULES store)
mailshot_test(unit typed_plans SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_typed_plans.c
    ${PROJECT_SOURCE_DIR}/tests/contract/world.c ${PROJECT_SOURCE_DIR}/tests/contract/drivers.c
    MODULES store)
foreach(name IN ITEMS edges typed_plans)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
