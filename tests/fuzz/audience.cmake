mailshot_fuzz(audience_csv SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_audience_csv.c MODULES audience)
mailshot_fuzz(audience_segment SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_audience_segment.c
    MODULES audience)
