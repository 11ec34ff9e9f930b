#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/** Intrusive doubly linked list. An object is on at most one list per node it embeds. */
struct list {
    struct list *prev, *next;
};

#define LIST_ENTRY(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))
/** Walk that allows removing the current node. */
#define LIST_EACH(node, tmp, head)                                                                 \
    for (struct list *node = (head)->next, *tmp = node->next; node != (head);                      \
         node = tmp, tmp = node->next)

static inline void
list_init(struct list *l)
{
    l->prev = l->next = l;
}

static inline bool
list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void
list_push_back(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void
list_push_front(struct list *head, struct list *node)
{
    list_push_back(head->next, node);
}

/** Take off its list; the node is then a list of its own, so removing twice is harmless. */
static inline void
list_del(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/** Append all nodes of `from` to `head`; `from` is empty afterwards. */
static inline void
list_move(struct list *head, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->prev = head->prev;
    from->prev->next = head;
    head->prev->next = from->next;
    head->prev = from->prev;
    list_init(from);
}

/** First node taken off, or NULL. */
static inline struct list *
list_pop_front(struct list *head)
{
    struct list *n = head->next;

    if (n == head)
        return NULL;
    list_del(n);
    return n;
}

#endif
