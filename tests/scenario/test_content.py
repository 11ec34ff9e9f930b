"""What arrives at the sink is what was written: bytes read by another mail library."""

import base64
import re

import harness
import mailing
import mailread
from harness import Scenario

SUBJECT = "Abcdefghij" * 4 + " " + "αβγδεζηθικ" * 9 + " 🎉🚀✨ end"
LINKS = {
    "https://example.com/p?a=1&amp;b=2#part": "https://example.com/p?a=1&b=2#part",
    "https://example.com/share?href=http://example.org/":
        "https://example.com/share?href=http://example.org/",
    "https://example.com/s?f[0]=t:2": "https://example.com/s?f[0]=t:2",
}
UNTRACKED = ["#top", "mailto:x@example.com?subject=A%20B", "tel:+49301234", "//example.com/rel"]


class Content(Scenario):

    def send(self, template, rows, **profile):
        """One broadcast of this template to these people; the mails by recipient."""
        sink = self.sink(store=True)
        self.one = self.daemon()
        mailing.put_profile(self.one, sink, 2, **profile)
        mailing.import_rows(self.one, ["externalId,email,name"] + rows)
        mailing.put_template(self.one, **template)
        mailing.start_broadcast(self.one)
        mailing.wait_state(self.one, "sent")
        mailing.check_books(self.one)
        mails = sink.mails()
        self.assertEqual(len(mails), len(rows))
        for raw in mails.values():
            mailread.check_wire(raw)
        return mails

    def test_line_break_in_a_name(self):
        """Refused where it is written, and never a header of its own."""
        mails = self.send({}, ["a,ana@example.org,Ana", "b,ben@example.org,Ben"])
        self.assertEqual(sorted(mails), ["ana@example.org", "ben@example.org"])
        for field in ("externalId", "email"):
            body = {"externalId": "x", "email": "x@example.org"}
            body[field] += "\r\nBcc: eve@example.com"
            status, answer = self.one.request("POST", "/v1/contacts", body)
            self.assertEqual(mailing.faulty_fields(status, answer), [field])
        evil = {"externalId": "e", "email": "e@example.org", "subscribe": True,
                "fields": {"name": "Ana\r\nBcc: eve@example.com"}}
        status, answer = self.one.request("POST", "/v1/contacts", evil)
        self.assertEqual(mailing.faulty_fields(status, answer), ["fields"])
        refused = mailing.import_rows(self.one, [
            "externalId,email,name", 'e,e@example.org,"Ana\r\nBcc: eve@example.com"'])
        self.assertEqual((refused["added"], refused["refused"]), (0, 1))

    def test_long_mixed_subject(self):
        raw, = self.send({"subject": SUBJECT}, ["a,ana@example.org,Ana"]).values()
        self.assertEqual(mailread.parse(raw)["Subject"], SUBJECT)
        head = raw.split(b"\r\n\r\n", 1)[0]
        field = re.search(rb"(?m)^Subject:.*(?:\r\n[ \t].*)*", head).group()
        for line in field.split(b"\r\n"):
            self.assertLessEqual(len(line), 78)
        for word in re.findall(rb"=\?[^?]+\?([QBqb])\?([^?]*)\?=", field):
            self.decode_word(*word)

    def decode_word(self, encoding, text):
        """Each encoded word is complete in itself (RFC 2047 section 5)."""
        self.assertLessEqual(len(text) + len("=?UTF-8?Q??="), 75)
        if encoding.upper() == b"B":
            import base64
            base64.b64decode(text, validate=True).decode()
        else:
            re.sub(rb"=(..)", lambda m: bytes([int(m.group(1), 16)]),
                   text.replace(b"_", b" ")).decode()

    def test_domain_in_another_script(self):
        mails = self.send({}, ["b,info@bücher.example.org,Büchner"])
        (recipient, raw), = mails.items()
        self.assertEqual(recipient, "info@xn--bcher-kva.example.org")
        self.assertIn("info@xn--bcher-kva.example.org", mailread.parse(raw)["To"])
        again = mailing.import_rows(self.one, ["email", "info@xn--bcher-kva.example.org"])
        self.assertEqual(again["added"], 0, f"the same address was taken for another: {again}")
        mailing.import_rows(self.one, ["externalId,email", "c,info@xn--bcher-kva.example.org"])
        excluded = mailing.start_broadcast(self.one, "again")["excluded"]
        self.assertEqual(excluded["duplicate_address"], 1)

    def test_lines_that_begin_with_dots(self):
        private, public = mailread.make_key(self.folder)
        text = ".\r\n..x\r\n.hidden\r\nend\r\n"
        raw, = self.send({"html": '<p>x <a href="{{unsubscribeUrl}}">u</a></p>', "plainText": text},
                         ["a,ana@example.org,Ana"], dkim=[
                             {"domain": "sender.example", "selector": "s1", "privateKey": private}],
                         ).values()
        self.assertEqual(mailread.text_of(raw).replace("\r\n", "\n")[:len(text) - 4],
                         text.replace("\r\n", "\n"))
        mailread.check_dkim(raw, public)

    def test_unsubscribe_headers_under_the_signature(self):
        private, public = mailread.make_key(self.folder)
        raw, = self.send({}, ["a,ana@example.org,Ana"], dkim=[
            {"domain": "sender.example", "selector": "s1", "privateKey": private}]).values()
        message = mailread.parse(raw)
        self.assertIn("/m/unsub/", mailread.one_click_url(raw))
        self.assertEqual(message.get_all("List-Unsubscribe-Post"), ["List-Unsubscribe=One-Click"])
        names = mailread.check_dkim(raw, public)
        for name in ("from", "subject", "list-unsubscribe", "list-unsubscribe-post"):
            self.assertIn(name, names)
        self.assertGreater(names.count("from"), 1, "a second From could be put in front")
        broken = raw.replace(b"Hello Ana", b"Hello Eve")
        self.assertNotEqual(broken, raw)
        with self.assertRaises(harness.Failure):
            mailread.check_dkim(broken, public)

    def test_links_lead_where_they_were_written(self):
        html = "<html><body>" + "".join(
            f'<a href="{href}">x</a>' for href in [*LINKS, *UNTRACKED]) + \
            '<a href="{{unsubscribeUrl}}">u</a></body></html>'
        raw, = self.send({"html": html}, ["a,ana@example.org,Ana"]).values()
        found = mailread.hrefs(raw)
        self.assertEqual(found[3:7], UNTRACKED)
        for url, target in zip(found, LINKS.values()):
            path = re.sub(r"^http://m\.example\.com", "", url)
            self.assertTrue(path.startswith("/m/click/"), url)
            self.assert_leads(path, target)
            self.assert_leads(path + "?u=https://other.example.com/", target)
            for changed in (path[:-1] + ("A" if path[-1] != "A" else "B"), path + "x",
                            path[:10] + ("0" if path[10] != "0" else "1") + path[11:]):
                self.assertEqual(self.one.public("GET", changed)[0], 404, changed)
        self.assertTrue(found[7].startswith("http://m.example.com/m/unsub/"), found[7])

    def test_script_hides_in_no_link(self):
        """Refused where it is written; from a contact's field it becomes a link to nowhere."""
        html = '<a href="{{contact.fields.site}}">x</a><a href="{{unsubscribeUrl}}">u</a>'
        self.send({"html": html}, ["a,ana@example.org,Ana"])
        for href in ("javascript:alert(1)", "JaVa&#115;cript:alert(1)", "data:text/html,x"):
            status, answer = self.one.request("PUT", "/agent/templates/evil", {
                "name": "Evil", "kind": "marketing", "fromName": "E", "fromEmail": "e@example.com",
                "subject": "s", "body": {"html": f'<a href="{href}">x</a>'}})
            self.assertEqual((status, answer["error"]), (422, "compile_failed"), href)
            self.assertEqual(self.one.request("GET", "/agent/templates/evil")[0], 404)
        self.one.call("POST", "/v1/contacts", {
            "externalId": "e", "email": "eve@example.org", "subscribe": True,
            "fields": {"site": "javascript:alert(1)"}})
        mailing.start_broadcast(self.one, "again")
        mailing.wait_state(self.one, "sent", "again")
        self.assertEqual(mailing.check_books(self.one, "again")["sent"], 2)
        for path in (self.folder / "sink/mails").glob("*.eml"):
            raw = path.read_bytes()
            self.assertNotIn("javascript", mailread.html_of(raw).lower())
            if "eve@example.org" in mailread.parse(raw)["To"]:
                self.assertEqual(mailread.hrefs(raw)[0], "#")

    def assert_leads(self, path, target):
        status, headers, _ = self.one.public("GET", path)
        self.assertEqual((status, headers.get("Location")), (302, target))


if __name__ == "__main__":
    harness.main()
