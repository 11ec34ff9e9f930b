#ifndef DAEMON_NOTIFY_SOCKET_H
#define DAEMON_NOTIFY_SOCKET_H

/** Tell the service manager about a change of state ("READY=1", "STOPPING=1"): one datagram to the
 * socket in $NOTIFY_SOCKET. Nothing happens when the variable is not set; failures are ignored, since
 * a daemon nobody watches runs just as well. */
void notify_socket_send(const char *state);

#endif
