# Suites on the typed records of the store, on every backend of drivers.c.
set(sends_world ${CMAKE_CURRENT_LIST_DIR}/drivers.c ${CMAKE_CURRENT_LIST_DIR}/world.c)

mailshot_test(contract sends SOURCES ${CMAKE_CURRENT_LIST_DIR}/contract_sends.c ${sends_world}
    MODULES store TIMEOUT 300)
mailshot_test(contract runs SOURCES ${CMAKE_CURRENT_LIST_DIR}/contract_runs.c ${sends_world}
    MODULES store)
mailshot_test(contract prop_sends SOURCES ${CMAKE_CURRENT_LIST_DIR}/prop_sends.c
    ${CMAKE_CURRENT_LIST_DIR}/sends_model.c ${sends_world} MODULES store TIMEOUT 300)
foreach(name IN ITEMS sends runs prop_sends)
    target_include_directories(test_contract_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
