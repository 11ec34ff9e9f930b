foreach(name IN ITEMS smtp_reply smtp_ehlo retry_after)
    mailshot_fuzz(${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.c MODULES transport)
endforeach()
