/* json: a recursive-descent parser over a text that it has written before: branches on bytes, recursion, numbers, and a
 * tree of small nodes from an arena. */
#include "benchmark.h"

const struct benchmark benchmark = {"json", 370, 0x3342588e4dcbd036};

enum { TEXT_BYTES = 1 << 17, NODES = 1 << 14, RECORDS = 900 };
enum kind { NUMBER, STRING, LIST, OBJECT, TRUE, FALSE, NOTHING };

struct node {
    enum kind kind;
    struct node *next;  /* in its list or object */
    struct node *first; /* LIST, OBJECT */
    uint32_t key_hash;  /* in an object */
    uint32_t string_hash;
    double number;
};

static char text[TEXT_BYTES];
static size_t length;
static struct node nodes[NODES];
static size_t node_count;

static void put(const char *string)
{
    while (*string)
        text[length++] = *string++;
}

static void put_number(uint32_t number)
{
    char digits[10];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        text[length++] = digits[--count];
}

static void write_text(void)
{
    uint64_t state = 13;
    length = 0;
    put("{\"records\": [");
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t bits = random_next(&state);
        put(i ? ",\n  {\"id\": " : "\n  {\"id\": ");
        put_number(i);
        put(", \"weight\": -");
        put_number((uint32_t)(bits & 0xffff));
        put(".");
        put_number((uint32_t)(bits >> 16 & 0xfff));
        put(bits >> 63 ? ", \"open\": true, \"name\": \"region\\n" : ", \"open\": false, \"name\": \"stencil ");
        put_number((uint32_t)(bits >> 32 & 0xffff));
        put("\", \"path\": [");
        put_number((uint32_t)(bits >> 28 & 0xff));
        put(", null, [1, [2, []]]]}");
    }
    put("\n]}");
    text[length] = 0;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

static const char *parse_string(const char *at, uint32_t *hash)
{
    uint32_t value = 2166136261u;
    for (at++; *at != '"'; at++) {
        char byte = *at;
        if (byte == '\\')
            byte = *++at == 'n' ? '\n' : *at;
        value = (value ^ (uint8_t)byte) * 16777619u;
    }
    *hash = value;
    return at + 1;
}

static const char *parse_number(const char *at, double *number)
{
    double sign = 1, value = 0, scale = 1;
    if (*at == '-') {
        sign = -1;
        at++;
    }
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            value += (*at - '0') * (scale *= 0.1);
    *number = sign * value;
    return at;
}

static const char *parse_value(const char *at, struct node **result);

static const char *parse_members(const char *at, struct node *parent, char end)
{
    struct node **link = &parent->first;
    for (at = skip_blanks(at + 1); *at != end;) {
        uint32_t key_hash = 0;
        if (end == '}') {
            at = skip_blanks(parse_string(at, &key_hash));
            at = skip_blanks(at + 1);
        }
        at = skip_blanks(parse_value(at, link));
        (*link)->key_hash = key_hash;
        link = &(*link)->next;
        if (*at == ',')
            at = skip_blanks(at + 1);
    }
    return at + 1;
}

static const char *parse_value(const char *at, struct node **result)
{
    struct node *node = *result = &nodes[node_count++];
    *node = (struct node){.kind = NOTHING};
    switch (*at) {
    case '{':
        node->kind = OBJECT;
        return parse_members(at, node, '}');
    case '[':
        node->kind = LIST;
        return parse_members(at, node, ']');
    case '"':
        node->kind = STRING;
        return parse_string(at, &node->string_hash);
    case 't':
        node->kind = TRUE;
        return at + 4;
    case 'f':
        node->kind = FALSE;
        return at + 5;
    case 'n':
        return at + 4;
    default:
        node->kind = NUMBER;
        return parse_number(at, &node->number);
    }
}

static uint64_t sum_tree(uint64_t sum, const struct node *node)
{
    for (; node; node = node->next) {
        sum = checksum_u64(sum, (uint32_t)node->kind ^ node->key_hash ^ node->string_hash);
        sum = checksum_f64(sum, node->number);
        sum = sum_tree(sum, node->first);
    }
    return sum;
}

uint64_t benchmark_run(void)
{
    struct node *root;
    write_text();
    node_count = 0;
    parse_value(skip_blanks(text), &root);
    return sum_tree(1, root);
}
