mailshot_test(unit net SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_net.c MODULES net)
