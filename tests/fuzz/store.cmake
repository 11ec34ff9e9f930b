mailshot_fuzz(store_language SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_store_language.c MODULES store)
