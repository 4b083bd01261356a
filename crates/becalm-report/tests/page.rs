//! Is a page whole, safe and on its own, whatever is written on it?

use becalm_report::{Colour, LineChart, Page, Series, Table};

fn page() -> Page {
    let hostile = "<img src=x onerror=alert(1)>";
    Page::new(hostile)
        .heading(hostile)
        .paragraph(hostile)
        .conclusion(Colour::Green, hostile)
        .code(hostile)
        .definitions([(hostile, hostile)])
        .contents()
        .badges([(Colour::Red, hostile, hostile)])
        .details(hostile, |part| part.heading(hostile).paragraph(hostile))
        .figure(
            &LineChart::new(hostile).series(Series::line("s", Colour::Ink, vec![])),
            hostile,
        )
        .table(&Table::new([hostile]).row([hostile.into()]))
}

#[test]
fn no_text_becomes_markup() {
    assert!(!page().to_html().contains("<img"));
}

#[test]
fn nothing_is_fetched_and_one_script_runs() {
    let html = page().to_html().replace("http://www.w3.org/2000/svg", "");
    for outside in [
        "http:", "https:", "url(", "@import", "<link", "fetch", "import(",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(
        html.matches(" src=").count(),
        html.matches("&lt;img src=").count()
    );
}

#[test]
fn of_many_sections_the_first_and_the_last_are_listed() {
    let page = (1..=40).fold(Page::new("t").contents(), |page, number| {
        page.heading(&format!("s{number}"))
    });
    let html = page.to_html();
    let list = html.split("</nav>").next().unwrap();
    assert_eq!(list.matches("<a href=").count(), 16);
    assert!(list.contains("#s1\"") && list.contains("#s40\"") && list.contains("and 24 more"));
}

#[test]
fn figures_are_values_with_names_and_stand_above_the_fold() {
    let page = Page::new("t")
        .figures("a <policy>", [("2.4 s", "back"), ("<1", "load")])
        .contents()
        .heading("h");
    let html = page.to_html();
    assert!(html.contains("<dt>back</dt><dd>2.4 s</dd>") && html.contains("&lt;1"));
    assert!(html.find("bc-figures\">") < html.find("bc-fold") && html.contains("a &lt;policy&gt;"));
}

#[test]
fn anchors_are_unique_and_listed() {
    let page = Page::new("t")
        .contents()
        .heading("Why?")
        .details("more", |part| part.heading("why"))
        .heading("嵐");
    let html = page.to_html();
    for anchor in ["why", "why-2", "section"] {
        let id = format!("id=\"{anchor}\"");
        assert_eq!(html.matches(&id).count(), 1, "{anchor}");
        // In the list and in the heading itself.
        let link = format!("href=\"#{anchor}\"");
        assert_eq!(html.matches(&link).count(), 2, "{anchor}");
    }
    assert!(html.find("<nav") < html.find("<h2"));
}

#[test]
fn a_list_of_sections_inside_a_part_stays_there() {
    let page = Page::new("t").details("sections", Page::contents);
    let html = page.heading("one").to_html();
    let at = |text| html.find(text).unwrap();
    assert!(at("<summary>") < at("<nav") && at("<nav") < at("</details>"));
}

#[test]
fn elements_are_closed_in_order() {
    let html = page().to_html();
    // What a script holds is not markup.
    let (before, rest) = html.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let html = format!("{before}{after}");
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let name: String = tag
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '/')
            .collect();
        let void = tag.starts_with('!')
            || ["meta", "wbr"].contains(&name.as_str())
            || tag.split('>').next().unwrap().ends_with('/');
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed));
        } else if !void {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
