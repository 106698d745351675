/* Forwards frames between two interfaces. WORK is what it does for each of them. usage: fwd INTERFACE INTERFACE */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#define WORK 20000

/* Multiplications that wait for each other: their time is that of the processor alone. */
static volatile uint64_t result;

static void work(void) {
    uint64_t value = 1;
    for (int n = 0; n < WORK; n++)
        value = value * 6364136223846793005u + 1;
    result = value;
}

int main(int count, char **names) {
    static char frame[9018];
    struct pollfd port[2];
    if (count != 3)
        return 2;
    for (int n = 0; n < 2; n++) {
        int on = 1, bytes = 1 << 18;
        struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
        at.sll_ifindex = if_nametoindex(names[n + 1]);
        port[n] = (struct pollfd){.fd = socket(AF_PACKET, SOCK_RAW, 0), .events = POLLIN};
        setsockopt(port[n].fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
        setsockopt(port[n].fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        if (at.sll_ifindex == 0 || bind(port[n].fd, (struct sockaddr *)&at, sizeof at) != 0)
            return 1;
    }
    for (;;) {
        poll(port, 2, -1);
        for (int n = 0; n < 2; n++) {
            if (port[n].revents & POLLIN) {
                ssize_t length = recv(port[n].fd, frame, sizeof frame, 0);
                work();
                /* A full queue: the frame is lost. */
                send(port[1 - n].fd, frame, length, 0);
            }
        }
    }
}
