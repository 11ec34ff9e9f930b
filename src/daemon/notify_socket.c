/*
 * The service manager's socket, spoken to directly: the protocol is one datagram of NAME=value lines.
 */
#include "daemon/notify_socket.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

void
notify_socket_send(const char *state)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path != NULL ? strlen(path) : 0;
    socklen_t len;
    int fd;

    if (n < 2 || n >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, n);
    if (path[0] == '@')
        to.sun_path[0] = '\0'; /* an abstract socket (unix(7)) */
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if ((fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
        return;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to, len) < 0)
        log_debug(NULL, "notify.failed", "state=%s", state);
    close(fd);
}
