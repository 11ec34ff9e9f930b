foreach(name IN ITEMS template links html_text)
    mailshot_fuzz(${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.c MODULES message)
endforeach()
