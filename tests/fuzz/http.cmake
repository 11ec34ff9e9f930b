mailshot_fuzz(http_uri SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_http_uri.c MODULES http)
