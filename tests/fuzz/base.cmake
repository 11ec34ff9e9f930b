mailshot_fuzz(json_parse SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_json_parse.c MODULES base)
