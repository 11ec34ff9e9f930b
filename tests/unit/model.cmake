set(model_world ${CMAKE_CURRENT_LIST_DIR}/../support/model_world.c
    ${CMAKE_CURRENT_LIST_DIR}/../contract/drivers.c)
foreach(name IN ITEMS contact consent template_doc broadcast_doc profile token_doc)
    mailshot_test(unit model_${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_model_${name}.c ${model_world}
        MODULES model)
endforeach()
