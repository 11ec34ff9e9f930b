mailshot_test(unit queue SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_queue.c MODULES queue)
mailshot_test(unit control SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_control.c MODULES control)
mailshot_test(unit send_outcome SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_send_outcome.c MODULES send)
mailshot_test(unit pipeline SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_pipeline.c
    ${CMAKE_CURRENT_LIST_DIR}/../support/engine.c MODULES broadcast send TIMEOUT 300)
