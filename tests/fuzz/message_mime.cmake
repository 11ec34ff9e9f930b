mailshot_fuzz(address SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_address.c MODULES message)
mailshot_fuzz(mime_text SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_mime_text.c MODULES message)
mailshot_fuzz(tokens SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_tokens.c MODULES message)
