set(audience_world ${CMAKE_CURRENT_LIST_DIR}/../support/model_world.c
    ${CMAKE_CURRENT_LIST_DIR}/../contract/drivers.c)
foreach(name IN ITEMS segment stream import)
    mailshot_test(unit audience_${name}
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_audience_${name}.c ${audience_world}
        MODULES audience)
endforeach()
mailshot_test(unit audience_segment_property
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/prop_segment.c ${audience_world}
    MODULES audience TIMEOUT 300)
mailshot_test(unit audience_csv SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_audience_csv.c
    MODULES audience)
mailshot_test(unit audience_spill SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_audience_spill.c
    MODULES audience)
