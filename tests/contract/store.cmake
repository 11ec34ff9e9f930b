set(store_contract ${CMAKE_CURRENT_LIST_DIR}/drivers.c ${CMAKE_CURRENT_LIST_DIR}/docs.c)
foreach(name IN ITEMS docs_read docs_write)
    mailshot_test(contract ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/contract_${name}.c ${store_contract}
        MODULES store)
    target_include_directories(test_contract_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
mailshot_test(contract prop_docs
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/prop_docs.c ${CMAKE_CURRENT_LIST_DIR}/docs_model.c
        ${CMAKE_CURRENT_LIST_DIR}/docs_model_update.c ${store_contract}
    MODULES store TIMEOUT 300)
target_include_directories(test_contract_prop_docs PRIVATE ${PROJECT_SOURCE_DIR}/tests)
