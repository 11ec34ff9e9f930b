foreach(name IN ITEMS arena base64 bsonx buf clock err file heap id json json_writer list log map mem
        metrics rand slice states timefmt tz utf8)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c MODULES base)
endforeach()
