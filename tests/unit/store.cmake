foreach(name IN ITEMS store_value store_schema)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c MODULES store)
endforeach()
set(store_support ${CMAKE_CURRENT_LIST_DIR}/../contract/drivers.c
    ${CMAKE_CURRENT_LIST_DIR}/../contract/docs.c)
foreach(name IN ITEMS store_open store_writer store_crash)
    mailshot_test(unit ${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${store_support} MODULES store)
endforeach()
foreach(name IN ITEMS store_value store_schema store_open store_writer store_crash)
    target_include_directories(test_unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
