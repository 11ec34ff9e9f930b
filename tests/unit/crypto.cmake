mailshot_test(unit crypto SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_crypto.c
    MODULES crypto LIBS PkgConfig::openssl)
target_include_directories(test_unit_crypto PRIVATE ${PROJECT_SOURCE_DIR}/tests)
