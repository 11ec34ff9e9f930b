/*
 * The main() of a fuzz target in builds without libFuzzer: runs LLVMFuzzerTestOneInput() on every
 * file given, and on every file in the folders given, in the order of their names. Each input lies
 * in memory of exactly its size, so a sanitizer sees one byte too many. A path that cannot be read,
 * and a run without any input, are failures: a corpus that got lost must not look like a pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned n_inputs;

static bool
complain(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
}

static bool
replay_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size != 0 ? size : 1);
    bool is_read;

    if (f == NULL || data == NULL) {
        free(data);
        if (f != NULL)
            fclose(f);
        return complain(path);
    }
    is_read = fread(data, 1, size, f) == size;
    fclose(f);
    if (is_read) {
        LLVMFuzzerTestOneInput(data, size);
        n_inputs++;
    }
    free(data);
    return is_read || complain(path);
}

static bool replay_path(const char *path);

static bool
replay_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    bool ok = true;

    if (n < 0)
        return complain(folder);
    for (int i = 0; i < n; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            ok = replay_path(path) && ok;
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static bool
replay_path(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return complain(path);
    return S_ISDIR(st.st_mode) ? replay_folder(path) : replay_file(path, (size_t)st.st_size);
}

int
main(int argc, char **argv)
{
    bool ok = true;

    for (int i = 1; i < argc; i++)
        ok = replay_path(argv[i]) && ok;
    printf("%u inputs replayed\n", n_inputs);
    return ok && n_inputs != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
