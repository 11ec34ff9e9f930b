#include "http/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Listening sockets. They are made here and not by the HTTP library, since its port argument
 * listens on all addresses, and since the mode of a Unix socket must be right before anybody can
 * connect to it. All are non-blocking and closed on exec.
 */

#define BACKLOG 512

static unsigned
bound_port(int fd)
{
    struct sockaddr_storage ss;
    socklen_t n = sizeof ss;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    if (getsockname(fd, (struct sockaddr *)&ss, &n) != 0)
        return 0;
    if (ss.ss_family == AF_INET6) {
        memcpy(&in6, &ss, sizeof in6);
        return ntohs(in6.sin6_port);
    }
    memcpy(&in4, &ss, sizeof in4);
    return ntohs(in4.sin_port);
}

static int
listen_on(const struct addrinfo *ai)
{
    int fd, on = 1, saved;

    fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, ai->ai_protocol);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int
http_listen_tcp(const char *host, unsigned port, unsigned *port_r, struct err *err)
{
    struct addrinfo hints = {0}, *list = NULL;
    char service[8];
    int fd = -1, rc;

    if (port > 65535)
        return err_set(err, ERR_INVALID, "port %u is out of range", port);
    snprintf(service, sizeof service, "%u", port);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if ((rc = getaddrinfo(host, service, &hints, &list)) != 0)
        return err_set(err, ERR_INVALID, "listen address %s: %s", host, gai_strerror(rc));
    for (const struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
        fd = listen_on(ai);
    rc = errno;
    freeaddrinfo(list);
    if (fd < 0)
        return err_errno(err, rc, "listen on %s port %u", host, port);
    *port_r = bound_port(fd);
    return fd;
}

int
http_listen_unix(const char *path, struct err *err)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd, saved;

    if (strlen(path) >= sizeof sun.sun_path)
        return err_set(
            err, ERR_INVALID, "socket path is longer than %zu bytes", sizeof sun.sun_path - 1);
    strcpy(sun.sun_path, path);
    if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
        return err_errno(err, errno, "control socket");
    /* What a predecessor left behind; the lock of the data folder says that it is dead. */
    unlink(path);
    /* On Linux the mode of the socket is that of the file it is bound to: no moment with another. */
    if (fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&sun, sizeof sun) == 0 &&
        chmod(path, 0600) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    return err_errno(err, saved, "control socket %s", path);
}
