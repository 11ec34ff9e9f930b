set(store_contract ${CMAKE_CURRENT_LIST_DIR}/drivers.c ${CMAKE_CURRENT_LIST_DIR}/docs.c)
foreach(name IN ITEMS docs_read docs_write)
    mailshot_test(contract ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/contract_${name}.c ${store_contract}
        MODULES store)
endforeach()
