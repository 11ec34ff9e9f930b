/*
 * Currencies in use (ISO 4217), with the digits of their minor unit and the symbol of American English
 * where that differs from the code. Sorted by code and searched by halving.
 */
#include "message/currency.h"

#include <stddef.h>

static const struct currency currencies[] = {{"AED", 2, NULL}, {"AFN", 2, NULL}, {"ALL", 2, NULL},
    {"AMD", 2, NULL}, {"AOA", 2, NULL}, {"ARS", 2, NULL}, {"AUD", 2, "A$"}, {"AWG", 2, NULL},
    {"AZN", 2, NULL}, {"BAM", 2, NULL}, {"BBD", 2, NULL}, {"BDT", 2, NULL}, {"BGN", 2, NULL},
    {"BHD", 3, NULL}, {"BIF", 0, NULL}, {"BMD", 2, NULL}, {"BND", 2, NULL}, {"BOB", 2, NULL},
    {"BRL", 2, "R$"}, {"BSD", 2, NULL}, {"BTN", 2, NULL}, {"BWP", 2, NULL}, {"BYN", 2, NULL},
    {"BZD", 2, NULL}, {"CAD", 2, "CA$"}, {"CDF", 2, NULL}, {"CHF", 2, NULL}, {"CLP", 0, NULL},
    {"CNY", 2, "CN¥"}, {"COP", 2, NULL}, {"CRC", 2, NULL}, {"CUP", 2, NULL}, {"CVE", 2, NULL},
    {"CZK", 2, NULL}, {"DJF", 0, NULL}, {"DKK", 2, NULL}, {"DOP", 2, NULL}, {"DZD", 2, NULL},
    {"EGP", 2, NULL}, {"ERN", 2, NULL}, {"ETB", 2, NULL}, {"EUR", 2, "€"}, {"FJD", 2, NULL},
    {"FKP", 2, NULL}, {"GBP", 2, "£"}, {"GEL", 2, NULL}, {"GHS", 2, NULL}, {"GIP", 2, NULL},
    {"GMD", 2, NULL}, {"GNF", 0, NULL}, {"GTQ", 2, NULL}, {"GYD", 2, NULL}, {"HKD", 2, "HK$"},
    {"HNL", 2, NULL}, {"HTG", 2, NULL}, {"HUF", 2, NULL}, {"IDR", 2, NULL}, {"ILS", 2, "₪"},
    {"INR", 2, "₹"}, {"IQD", 3, NULL}, {"IRR", 2, NULL}, {"ISK", 0, NULL}, {"JMD", 2, NULL},
    {"JOD", 3, NULL}, {"JPY", 0, "¥"}, {"KES", 2, NULL}, {"KGS", 2, NULL}, {"KHR", 2, NULL},
    {"KMF", 0, NULL}, {"KPW", 2, NULL}, {"KRW", 0, "₩"}, {"KWD", 3, NULL}, {"KYD", 2, NULL},
    {"KZT", 2, NULL}, {"LAK", 2, NULL}, {"LBP", 2, NULL}, {"LKR", 2, NULL}, {"LRD", 2, NULL},
    {"LSL", 2, NULL}, {"LYD", 3, NULL}, {"MAD", 2, NULL}, {"MDL", 2, NULL}, {"MGA", 2, NULL},
    {"MKD", 2, NULL}, {"MMK", 2, NULL}, {"MNT", 2, NULL}, {"MOP", 2, NULL}, {"MRU", 2, NULL},
    {"MUR", 2, NULL}, {"MVR", 2, NULL}, {"MWK", 2, NULL}, {"MXN", 2, "MX$"}, {"MYR", 2, NULL},
    {"MZN", 2, NULL}, {"NAD", 2, NULL}, {"NGN", 2, NULL}, {"NIO", 2, NULL}, {"NOK", 2, NULL},
    {"NPR", 2, NULL}, {"NZD", 2, "NZ$"}, {"OMR", 3, NULL}, {"PAB", 2, NULL}, {"PEN", 2, NULL},
    {"PGK", 2, NULL}, {"PHP", 2, "₱"}, {"PKR", 2, NULL}, {"PLN", 2, NULL}, {"PYG", 0, NULL},
    {"QAR", 2, NULL}, {"RON", 2, NULL}, {"RSD", 2, NULL}, {"RUB", 2, NULL}, {"RWF", 0, NULL},
    {"SAR", 2, NULL}, {"SBD", 2, NULL}, {"SCR", 2, NULL}, {"SDG", 2, NULL}, {"SEK", 2, NULL},
    {"SGD", 2, NULL}, {"SHP", 2, NULL}, {"SLE", 2, NULL}, {"SOS", 2, NULL}, {"SRD", 2, NULL},
    {"SSP", 2, NULL}, {"STN", 2, NULL}, {"SVC", 2, NULL}, {"SYP", 2, NULL}, {"SZL", 2, NULL},
    {"THB", 2, NULL}, {"TJS", 2, NULL}, {"TMT", 2, NULL}, {"TND", 3, NULL}, {"TOP", 2, NULL},
    {"TRY", 2, NULL}, {"TTD", 2, NULL}, {"TWD", 2, "NT$"}, {"TZS", 2, NULL}, {"UAH", 2, NULL},
    {"UGX", 0, NULL}, {"USD", 2, "$"}, {"UYU", 2, NULL}, {"UZS", 2, NULL}, {"VES", 2, NULL},
    {"VND", 0, "₫"}, {"VUV", 0, NULL}, {"WST", 2, NULL}, {"XAF", 0, "FCFA"}, {"XCD", 2, "EC$"},
    {"XOF", 0, "F\u202fCFA"}, {"XPF", 0, "CFPF"}, {"YER", 2, NULL}, {"ZAR", 2, NULL},
    {"ZMW", 2, NULL}, {"ZWG", 2, NULL}};

const struct currency *
currency_find(struct slice code)
{
    size_t low = 0, high = sizeof(currencies) / sizeof(currencies[0]);
    char upper[3];

    if (code.n != sizeof(upper))
        return NULL;
    for (size_t i = 0; i < sizeof(upper); i++)
        upper[i] = (char)(code.p[i] >= 'a' && code.p[i] <= 'z' ? code.p[i] - 32 : code.p[i]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_cmp(slice_make(upper, 3), slice_make(currencies[middle].code, 3));

        if (order == 0)
            return &currencies[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
