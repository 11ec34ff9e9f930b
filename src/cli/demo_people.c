/*
 * The people of the demo: made-up names in many scripts at addresses that belong to nobody (RFC 2606 §3).
 * Person number i is a pure function of i, so a second run finds the contacts of the first. A few have
 * unsubscribed or bounced before, and a few share an address with somebody, so that the ledger has
 * something to leave out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/slice.h"
#include "cli/demo.h"

#define N_NAMES 6

struct name {
    const char *text, *ascii;
};

static const struct tongue {
    const char *locale, *timezone, *city;
    bool family_first;
    struct name given[N_NAMES], family[N_NAMES];
} tongues[] = {
    {"en-GB", "Europe/London", "Leeds", false,
        {{"Alice", "alice"}, {"Oliver", "oliver"}, {"Siân", "sian"}, {"George", "george"},
            {"Niamh", "niamh"}, {"Harry", "harry"}},
        {{"Smith", "smith"}, {"O'Brien", "obrien"}, {"Taylor", "taylor"},
            {"Llewellyn-Jones", "llewellyn"}, {"Baker", "baker"}, {"Wood", "wood"}}},
    {"de-DE", "Europe/Berlin", "Köln", false,
        {{"Jürgen", "juergen"}, {"Zoë", "zoe"}, {"Käthe", "kaethe"}, {"Lukas", "lukas"},
            {"Änne", "aenne"}, {"Björn", "bjoern"}},
        {{"Müller", "mueller"}, {"Weiß", "weiss"}, {"Schäfer", "schaefer"}, {"König", "koenig"},
            {"Vogt", "vogt"}, {"Groß", "gross"}}},
    {"fr-FR", "Europe/Paris", "Besançon", false,
        {{"Élodie", "elodie"}, {"François", "francois"}, {"Chloé", "chloe"}, {"Noël", "noel"},
            {"Maëlle", "maelle"}, {"Hugo", "hugo"}},
        {{"Lefèvre", "lefevre"}, {"Dupré", "dupre"}, {"Garçon", "garcon"}, {"Bœuf", "boeuf"},
            {"Martin", "martin"}, {"Hébert", "hebert"}}},
    {"pl-PL", "Europe/Warsaw", "Łódź", false,
        {{"Łukasz", "lukasz"}, {"Agnieszka", "agnieszka"}, {"Paweł", "pawel"}, {"Zofia", "zofia"},
            {"Michał", "michal"}, {"Grażyna", "grazyna"}},
        {{"Wiśniewski", "wisniewski"}, {"Dąbek", "dabek"}, {"Wójcik", "wojcik"}, {"Zając", "zajac"},
            {"Król", "krol"}, {"Gołąb", "golab"}}},
    {"pt-BR", "America/Sao_Paulo", "São Luís", false,
        {{"João", "joao"}, {"Conceição", "conceicao"}, {"Inês", "ines"}, {"Antônio", "antonio"},
            {"Luísa", "luisa"}, {"Caio", "caio"}},
        {{"Gonçalves", "goncalves"}, {"Araújo", "araujo"}, {"Simões", "simoes"}, {"Silva", "silva"},
            {"Falcão", "falcao"}, {"Assunção", "assuncao"}}},
    {"el-GR", "Europe/Athens", "Θεσσαλονίκη", false,
        {{"Γιώργος", "giorgos"}, {"Ελένη", "eleni"}, {"Νίκος", "nikos"}, {"Σοφία", "sofia"},
            {"Άννα", "anna"}, {"Πέτρος", "petros"}},
        {{"Παπαδάκης", "papadakis"}, {"Νικολάου", "nikolaou"}, {"Ιωάννου", "ioannou"},
            {"Κωστάς", "kostas"}, {"Δήμου", "dimou"}, {"Ράπτης", "raptis"}}},
    {"ru-RU", "Europe/Moscow", "Тверь", false,
        {{"Алексей", "aleksei"}, {"Ольга", "olga"}, {"Фёдор", "fyodor"}, {"Юлия", "yulia"},
            {"Пётр", "pyotr"}, {"Жанна", "zhanna"}},
        {{"Щука", "shchuka"}, {"Мороз", "moroz"}, {"Чайка", "chaika"}, {"Коваль", "koval"},
            {"Бондарь", "bondar"}, {"Заяц", "zayats"}}},
    {"ar-EG", "Africa/Cairo", "الإسكندرية", false,
        {{"محمد", "mohamed"}, {"فاطمة", "fatma"}, {"أحمد", "ahmed"}, {"ليلى", "layla"},
            {"يوسف", "youssef"}, {"نور", "nour"}},
        {{"الحداد", "elhaddad"}, {"النجار", "elnaggar"}, {"حسن", "hassan"}, {"منصور", "mansour"},
            {"سالم", "salem"}, {"خليل", "khalil"}}},
    {"he-IL", "Asia/Jerusalem", "חיפה", false,
        {{"נועה", "noa"}, {"איתן", "eitan"}, {"תמר", "tamar"}, {"דוד", "david"}, {"מאיה", "maya"},
            {"אורי", "uri"}},
        {{"כהן", "cohen"}, {"לוי", "levi"}, {"מזרחי", "mizrahi"}, {"פרץ", "peretz"},
            {"שפירא", "shapira"}, {"ברק", "barak"}}},
    {"hi-IN", "Asia/Kolkata", "जयपुर", false,
        {{"अनिल", "anil"}, {"प्रिया", "priya"}, {"संजय", "sanjay"}, {"कृष्णा", "krishna"},
            {"दीप्ति", "dipti"}, {"राहुल", "rahul"}},
        {{"शर्मा", "sharma"}, {"गुप्ता", "gupta"}, {"मिश्रा", "mishra"}, {"सिंह", "singh"},
            {"वर्मा", "verma"}, {"जोशी", "joshi"}}},
    {"zh-CN", "Asia/Shanghai", "成都", true,
        {{"小明", "xiaoming"}, {"丽娜", "lina"}, {"伟", "wei"}, {"芳", "fang"}, {"静怡", "jingyi"},
            {"建国", "jianguo"}},
        {{"王", "wang"}, {"李", "li"}, {"张", "zhang"}, {"刘", "liu"}, {"陈", "chen"},
            {"欧阳", "ouyang"}}},
    {"ja-JP", "Asia/Tokyo", "札幌", true,
        {{"さくら", "sakura"}, {"健太", "kenta"}, {"ユウコ", "yuko"}, {"翔", "sho"},
            {"美咲", "misaki"}, {"大輔", "daisuke"}},
        {{"佐藤", "sato"}, {"鈴木", "suzuki"}, {"高橋", "takahashi"}, {"田中", "tanaka"},
            {"渡辺", "watanabe"}, {"小林", "kobayashi"}}},
    {"ko-KR", "Asia/Seoul", "부산", true,
        {{"민준", "minjun"}, {"서연", "seoyeon"}, {"지우", "jiwoo"}, {"하은", "haeun"},
            {"도윤", "doyun"}, {"수빈", "subin"}},
        {{"김", "kim"}, {"이", "lee"}, {"박", "park"}, {"최", "choi"}, {"정", "jung"},
            {"강", "kang"}}},
};
#define N_TONGUES (sizeof(tongues) / sizeof(tongues[0]))

/* ---- one person ------------------------------------------------------------------------------ */

#define UNSUBSCRIBED_EVERY 50
#define BOUNCED_EVERY      200
#define SHARED_EVERY       100 /* twice: with somebody who gets mail, and with one who wants none */

static void
append_address(int64_t i, struct buf *out)
{
    static const char *const tops[] = {"com", "org", "net"};
    static const char *const hosts[] = {"mail", "post", "home", "work", "inbox"};
    const struct tongue *t = &tongues[i % (int64_t)N_TONGUES];
    int64_t k = i / (int64_t)N_TONGUES;

    buf_printf(out, "%s.%s.%" PRId64 "@%s.example.%s", t->given[k % N_NAMES].ascii,
        t->family[k / N_NAMES % N_NAMES].ascii, i, hosts[i % 5], tops[i % 3]);
}

/* What the person has said before; the import takes "unsubscribed" and "bounced" as opt-outs. */
static const char *
status_of(int64_t i)
{
    if (i % UNSUBSCRIBED_EVERY == UNSUBSCRIBED_EVERY - 2)
        return "unsubscribed";
    return i % BOUNCED_EVERY == BOUNCED_EVERY - 3 ? "bounced" : "";
}

void
demo_people_header(struct buf *out)
{
    buf_append_str(
        out, "externalId,email,name,firstName,city,plan,locale,timezone,tags,status\r\n");
}

void
demo_people_row(int64_t i, struct buf *out)
{
    static const char *const plans[] = {"free", "team", "business"};
    const struct tongue *t = &tongues[i % (int64_t)N_TONGUES];
    int64_t k = i / (int64_t)N_TONGUES;
    const char *given = t->given[k % N_NAMES].text;
    const char *family = t->family[k / N_NAMES % N_NAMES].text;
    bool is_shared = i % SHARED_EVERY == 60 || i % SHARED_EVERY == SHARED_EVERY - 1;

    buf_printf(out, "demo-%" PRId64 ",", i);
    append_address(is_shared ? i - 1 : i, out);
    buf_printf(out, ",%s%s%s,%s,%s,%s,%s,%s,demo|%.2s,%s\r\n", t->family_first ? family : given,
        t->family_first ? "" : " ", t->family_first ? given : family, given, t->city,
        plans[i % 7 % 3], t->locale, t->timezone, t->locale, status_of(i));
}

/* ---- the file -------------------------------------------------------------------------------- */

#define WRITE_BYTES (256u << 10)

int
demo_people_write(const char *path, int64_t n, struct err *err)
{
    FILE *f = fopen(path, "we");
    struct buf text = BUF_INIT;
    bool ok = f != NULL;

    if (f == NULL)
        return err_errno(err, errno, "%s", path);
    demo_people_header(&text);
    for (int64_t i = 0; ok && i < n; i++) {
        demo_people_row(i, &text);
        if (text.n >= WRITE_BYTES) {
            ok = fwrite(text.p, 1, text.n, f) == text.n;
            buf_clear(&text);
        }
    }
    ok = ok && fwrite(text.p, 1, text.n, f) == text.n;
    buf_deinit(&text);
    if (!ok)
        err_errno(err, errno, "%s", path);
    if (fclose(f) != 0 && ok)
        return err_errno(err, errno, "%s", path);
    return ok ? 0 : -1;
}
