mailshot_fuzz(http_uri SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_http_uri.c MODULES http)
mailshot_fuzz(http_framing SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_http_framing.c
    ${CMAKE_CURRENT_LIST_DIR}/http_reading.c MODULES http)
mailshot_fuzz(api_schema SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_api_schema.c MODULES api)
