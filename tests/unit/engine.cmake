mailshot_test(unit queue SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_queue.c MODULES queue)
mailshot_test(unit control SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_control.c MODULES control)
mailshot_test(unit send_outcome SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_send_outcome.c MODULES send)
mailshot_test(unit pipeline SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_pipeline.c
    ${CMAKE_CURRENT_LIST_DIR}/../support/engine.c MODULES broadcast send TIMEOUT 300)
foreach(name IN ITEMS one_offs pipeline_trouble)
    mailshot_test(unit ${name} SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c
        ${CMAKE_CURRENT_LIST_DIR}/../support/engine.c MODULES broadcast send TIMEOUT 300)
endforeach()
target_compile_definitions(test_unit_pipeline_trouble PRIVATE SMTP_SINK="$<TARGET_FILE:smtp_sink>")
add_dependencies(test_unit_pipeline_trouble smtp_sink)
