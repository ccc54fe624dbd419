-- Text: what the embedding and the lexical index have in common, without depending on a locale.
--
-- lower(), regular-expression classes and the text-search parser follow the database's locale, and
-- on LC_CTYPE = C they leave all but ASCII alone. So case folding, marks, punctuation and scripts
-- are written out here as code points; those of `_words` and `_fold_marks` are the model's own
-- (tool_rag_pg/embedding/wordpiece.py, Unicode 8). tests/sql/test_text.py compares them. Text in
-- plain ASCII, the usual case, takes none of these long paths.

create or replace function tool_rag._is_ascii(p_text text) returns boolean
language sql immutable parallel safe
return p_text !~ '[^\u0001-\u007f]';
comment on function tool_rag._is_ascii(text) is 'Whether a text is plain ASCII.';

create or replace function tool_rag._lower(p_text text) returns text
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
begin
    if tool_rag._is_ascii(p_text) then
        return lower(p_text collate "C");
    end if;
    return translate(
        lower(p_text collate "C"),
        'ÆÐØÞĐĦĲĿŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǄǅǇǈǊǋǤǱǲǶǷȜȠȢ'
            'ȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϏϘϚϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽ'
            'ϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌ'
            'ҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦ'
            'ԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱ'
            'ႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅ'
            'ᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛ'
            'ᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿẞỺỼỾℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸⒹ'
            'ⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥ'
            'ⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄ'
            'ⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪ'
            'ꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮ'
            'ꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌'
            '𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐'
            '𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕'
            '𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾'
            '𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚'
            '𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
        'æðøþđħĳŀłŋœŧɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǆǆǉǉǌǌǥǳǳƕƿȝƞȣ'
            'ȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωϗϙϛϝϟϡϣϥϧϩϫϭϯθϸϲϻͻ'
            'ͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍ'
            'ҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧ'
            'ԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑ'
            'ⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕ'
            'ꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽაბგდევზთიკლმ'
            'ნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿßỻỽỿⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒⓓ'
            'ⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕ'
            'ⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅ'
            'ⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫ'
            'ꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪ'
            'ʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴'
            '𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸'
            '𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕'
            '𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞'
            '𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼'
            '𞤽𞤾𞤿𞥀𞥁𞥂𞥃'
    );
end
$$;
comment on function tool_rag._lower(text) is
'Lower case by Unicode''s simple mapping, for text in NFD, in any locale.';

create or replace function tool_rag._fold_marks(p_text text) returns text
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
begin
    if tool_rag._is_ascii(p_text) then
        return p_text;
    end if;
    return regexp_replace(
        normalize(p_text, nfd),
        '[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a'
        '\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a'
        '\u07a6-\u07b0\u07eb-\u07f3\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d'
        '\u0859-\u085b\u08e3-\u0902\u093a\u093c\u0941-\u0948\u094d\u0951-\u0957\u0962-\u0963\u0981'
        '\u09bc\u09c1-\u09c4\u09cd\u09e2-\u09e3\u0a01-\u0a02\u0a3c\u0a41-\u0a42\u0a47-\u0a48'
        '\u0a4b-\u0a4d\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a82\u0abc\u0ac1-\u0ac5\u0ac7-\u0ac8\u0acd'
        '\u0ae2-\u0ae3\u0b01\u0b3c\u0b3f\u0b41-\u0b44\u0b4d\u0b56\u0b62-\u0b63\u0b82\u0bc0\u0bcd'
        '\u0c00\u0c3e-\u0c40\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c62-\u0c63\u0c81\u0cbc\u0cbf'
        '\u0cc6\u0ccc-\u0ccd\u0ce2-\u0ce3\u0d01\u0d41-\u0d44\u0d4d\u0d62-\u0d63\u0dca\u0dd2-\u0dd4'
        '\u0dd6\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0eb9\u0ebb-\u0ebc\u0ec8-\u0ecd'
        '\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f7e\u0f80-\u0f84\u0f86-\u0f87\u0f8d-\u0f97'
        '\u0f99-\u0fbc\u0fc6\u102d-\u1030\u1032-\u1037\u1039-\u103a\u103d-\u103e\u1058-\u1059'
        '\u105e-\u1060\u1071-\u1074\u1082\u1085-\u1086\u108d\u109d\u135d-\u135f\u1712-\u1714'
        '\u1732-\u1734\u1752-\u1753\u1772-\u1773\u17b4-\u17b5\u17b7-\u17bd\u17c6\u17c9-\u17d3\u17dd'
        '\u180b-\u180d\u18a9\u1920-\u1922\u1927-\u1928\u1932\u1939-\u193b\u1a17-\u1a18\u1a1b\u1a56'
        '\u1a58-\u1a5e\u1a60\u1a62\u1a65-\u1a6c\u1a73-\u1a7c\u1a7f\u1ab0-\u1abd\u1b00-\u1b03\u1b34'
        '\u1b36-\u1b3a\u1b3c\u1b42\u1b6b-\u1b73\u1b80-\u1b81\u1ba2-\u1ba5\u1ba8-\u1ba9\u1bab-\u1bad'
        '\u1be6\u1be8-\u1be9\u1bed\u1bef-\u1bf1\u1c2c-\u1c33\u1c36-\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce0'
        '\u1ce2-\u1ce8\u1ced\u1cf4\u1cf8-\u1cf9\u1dc0-\u1df5\u1dfc-\u1dff\u20d0-\u20dc\u20e1'
        '\u20e5-\u20f0\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302d\u3099-\u309a\ua66f\ua674-\ua67d'
        '\ua69e-\ua69f\ua6f0-\ua6f1\ua802\ua806\ua80b\ua825-\ua826\ua8c4\ua8e0-\ua8f1\ua926-\ua92d'
        '\ua947-\ua951\ua980-\ua982\ua9b3\ua9b6-\ua9b9\ua9bc\ua9e5\uaa29-\uaa2e\uaa31-\uaa32'
        '\uaa35-\uaa36\uaa43\uaa4c\uaa7c\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1'
        '\uaaec-\uaaed\uaaf6\uabe5\uabe8\uabed\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f\U000101fd\U000102e0'
        '\U00010376-\U0001037a\U00010a01-\U00010a03\U00010a05-\U00010a06\U00010a0c-\U00010a0f'
        '\U00010a38-\U00010a3a\U00010a3f\U00010ae5-\U00010ae6\U00011001\U00011038-\U00011046'
        '\U0001107f-\U00011081\U000110b3-\U000110b6\U000110b9-\U000110ba\U00011100-\U00011102'
        '\U00011127-\U0001112b\U0001112d-\U00011134\U00011173\U00011180-\U00011181'
        '\U000111b6-\U000111be\U000111ca-\U000111cc\U0001122f-\U00011231\U00011234'
        '\U00011236-\U00011237\U000112df\U000112e3-\U000112ea\U00011300-\U00011301\U0001133c'
        '\U00011340\U00011366-\U0001136c\U00011370-\U00011374\U000114b3-\U000114b8\U000114ba'
        '\U000114bf-\U000114c0\U000114c2-\U000114c3\U000115b2-\U000115b5\U000115bc-\U000115bd'
        '\U000115bf-\U000115c0\U000115dc-\U000115dd\U00011633-\U0001163a\U0001163d'
        '\U0001163f-\U00011640\U000116ab\U000116ad\U000116b0-\U000116b5\U000116b7'
        '\U0001171d-\U0001171f\U00011722-\U00011725\U00011727-\U0001172b\U00016af0-\U00016af4'
        '\U00016b30-\U00016b36\U00016f8f-\U00016f92\U0001bc9d-\U0001bc9e\U0001d167-\U0001d169'
        '\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244'
        '\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84\U0001da9b-\U0001da9f'
        '\U0001daa1-\U0001daaf\U0001e8d0-\U0001e8d6\U000e0100-\U000e01ef]',
        '', 'g'
    );
end
$$;
comment on function tool_rag._fold_marks(text) is
'Text in NFD without non-spacing marks (category Mn): "é" becomes "e".';

create or replace function tool_rag._words(p_text text) returns setof text
language plpgsql immutable parallel safe strict rows 20
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    v_text text;
begin
    if tool_rag._is_ascii(p_text) then
        return query
        select m[1]
        from regexp_matches(
            regexp_replace(
                lower(p_text collate "C"),
                '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]', '', 'g'
            ),
            '[a-z0-9]+|[!-/:-@\[-`{-~]', 'g'
        ) m;
        return;
    end if;
    -- Control, format and private-use characters go; ideographs stand alone.
    v_text := regexp_replace(
        p_text,
        '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f'
        '\u0080-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u202a-\u202e'
        '\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffb\ufffd\U000110bd'
        '\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f'
        '\U000f0000-\U000ffffd\U00100000-\U0010fffd]',
        '', 'g'
    );
    v_text := regexp_replace(
        v_text,
        '([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f'
        '\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f])',
        ' \1 ', 'g'
    );
    v_text := tool_rag._lower(tool_rag._fold_marks(v_text));
    -- Punctuation (category P, and ASCII's symbols) splits and stands alone; white space splits.
    return query
    select m[1]
    from regexp_matches(
        v_text,
        '[!-/:-@\[-`{-~'
        '\u00a1\u00a7\u00ab\u00b6-\u00b7\u00bb\u00bf\u037e\u0387\u055a-\u055f\u0589-\u058a\u05be'
        '\u05c0\u05c3\u05c6\u05f3-\u05f4\u0609-\u060a\u060c-\u060d\u061b\u061e-\u061f\u066a-\u066d'
        '\u06d4\u0700-\u070d\u07f7-\u07f9\u0830-\u083e\u085e\u0964-\u0965\u0970\u0af0\u0df4\u0e4f'
        '\u0e5a-\u0e5b\u0f04-\u0f12\u0f14\u0f3a-\u0f3d\u0f85\u0fd0-\u0fd4\u0fd9-\u0fda\u104a-\u104f'
        '\u10fb\u1360-\u1368\u1400\u166d-\u166e\u169b-\u169c\u16eb-\u16ed\u1735-\u1736\u17d4-\u17d6'
        '\u17d8-\u17da\u1800-\u180a\u1944-\u1945\u1a1e-\u1a1f\u1aa0-\u1aa6\u1aa8-\u1aad'
        '\u1b5a-\u1b60\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f\u1cc0-\u1cc7\u1cd3\u2010-\u2027'
        '\u2030-\u2043\u2045-\u2051\u2053-\u205e\u207d-\u207e\u208d-\u208e\u2308-\u230b'
        '\u2329-\u232a\u2768-\u2775\u27c5-\u27c6\u27e6-\u27ef\u2983-\u2998\u29d8-\u29db'
        '\u29fc-\u29fd\u2cf9-\u2cfc\u2cfe-\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u2e42\u3001-\u3003'
        '\u3008-\u3011\u3014-\u301f\u3030\u303d\u30a0\u30fb\ua4fe-\ua4ff\ua60d-\ua60f\ua673\ua67e'
        '\ua6f2-\ua6f7\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd'
        '\ua9de-\ua9df\uaa5c-\uaa5f\uaade-\uaadf\uaaf0-\uaaf1\uabeb\ufd3e-\ufd3f\ufe10-\ufe19'
        '\ufe30-\ufe52\ufe54-\ufe61\ufe63\ufe68\ufe6a-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f'
        '\uff1a-\uff1b\uff1f-\uff20\uff3b-\uff3d\uff3f\uff5b\uff5d\uff5f-\uff65'
        '\U00010100-\U00010102\U0001039f\U000103d0\U0001056f\U00010857\U0001091f\U0001093f'
        '\U00010a50-\U00010a58\U00010a7f\U00010af0-\U00010af6\U00010b39-\U00010b3f'
        '\U00010b99-\U00010b9c\U00011047-\U0001104d\U000110bb-\U000110bc\U000110be-\U000110c1'
        '\U00011140-\U00011143\U00011174-\U00011175\U000111c5-\U000111c9\U000111cd\U000111db'
        '\U000111dd-\U000111df\U00011238-\U0001123d\U000112a9\U000114c6\U000115c1-\U000115d7'
        '\U00011641-\U00011643\U0001173c-\U0001173e\U00012470-\U00012474\U00016a6e-\U00016a6f'
        '\U00016af5\U00016b37-\U00016b3b\U00016b44\U0001bc9f\U0001da87-\U0001da8b]'
        '|[^!-/:-@\[-`{-~\u0001-\u0020'
        '\u00a0\u1680\u2000-\u200a\u2028-\u2029\u202f\u205f\u3000'
        '\u00a1\u00a7\u00ab\u00b6-\u00b7\u00bb\u00bf\u037e\u0387\u055a-\u055f\u0589-\u058a\u05be'
        '\u05c0\u05c3\u05c6\u05f3-\u05f4\u0609-\u060a\u060c-\u060d\u061b\u061e-\u061f\u066a-\u066d'
        '\u06d4\u0700-\u070d\u07f7-\u07f9\u0830-\u083e\u085e\u0964-\u0965\u0970\u0af0\u0df4\u0e4f'
        '\u0e5a-\u0e5b\u0f04-\u0f12\u0f14\u0f3a-\u0f3d\u0f85\u0fd0-\u0fd4\u0fd9-\u0fda\u104a-\u104f'
        '\u10fb\u1360-\u1368\u1400\u166d-\u166e\u169b-\u169c\u16eb-\u16ed\u1735-\u1736\u17d4-\u17d6'
        '\u17d8-\u17da\u1800-\u180a\u1944-\u1945\u1a1e-\u1a1f\u1aa0-\u1aa6\u1aa8-\u1aad'
        '\u1b5a-\u1b60\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f\u1cc0-\u1cc7\u1cd3\u2010-\u2027'
        '\u2030-\u2043\u2045-\u2051\u2053-\u205e\u207d-\u207e\u208d-\u208e\u2308-\u230b'
        '\u2329-\u232a\u2768-\u2775\u27c5-\u27c6\u27e6-\u27ef\u2983-\u2998\u29d8-\u29db'
        '\u29fc-\u29fd\u2cf9-\u2cfc\u2cfe-\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u2e42\u3001-\u3003'
        '\u3008-\u3011\u3014-\u301f\u3030\u303d\u30a0\u30fb\ua4fe-\ua4ff\ua60d-\ua60f\ua673\ua67e'
        '\ua6f2-\ua6f7\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd'
        '\ua9de-\ua9df\uaa5c-\uaa5f\uaade-\uaadf\uaaf0-\uaaf1\uabeb\ufd3e-\ufd3f\ufe10-\ufe19'
        '\ufe30-\ufe52\ufe54-\ufe61\ufe63\ufe68\ufe6a-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f'
        '\uff1a-\uff1b\uff1f-\uff20\uff3b-\uff3d\uff3f\uff5b\uff5d\uff5f-\uff65'
        '\U00010100-\U00010102\U0001039f\U000103d0\U0001056f\U00010857\U0001091f\U0001093f'
        '\U00010a50-\U00010a58\U00010a7f\U00010af0-\U00010af6\U00010b39-\U00010b3f'
        '\U00010b99-\U00010b9c\U00011047-\U0001104d\U000110bb-\U000110bc\U000110be-\U000110c1'
        '\U00011140-\U00011143\U00011174-\U00011175\U000111c5-\U000111c9\U000111cd\U000111db'
        '\U000111dd-\U000111df\U00011238-\U0001123d\U000112a9\U000114c6\U000115c1-\U000115d7'
        '\U00011641-\U00011643\U0001173c-\U0001173e\U00012470-\U00012474\U00016a6e-\U00016a6f'
        '\U00016af5\U00016b37-\U00016b3b\U00016b44\U0001bc9f\U0001da87-\U0001da8b]+',
        'g'
    ) m;
end
$$;
comment on function tool_rag._words(text) is
'The words of a text as BERT''s uncased basic tokeniser splits them (Devlin et al. 2018).';

create or replace function tool_rag._marks() returns text
language sql immutable parallel safe
return U&'\0483\0484\0485\0486\0487\0711\0730\0731\0732\0733\0734\0735\0736\0737\0738\0739'
    '\073a\073b\073c\073d\073e\073f\0740\0741\0742\0743\0744\0745\0746\0747\0748\0749'
    '\074a\07a6\07a7\07a8\07a9\07aa\07ab\07ac\07ad\07ae\07af\07b0\07eb\07ec\07ed\07ee'
    '\07ef\07f0\07f1\07f2\07f3\07fd\0816\0817\0818\0819\081b\081c\081d\081e\081f\0820'
    '\0821\0822\0823\0825\0826\0827\0829\082a\082b\082c\082d\0859\085a\085b\0898\0899'
    '\089a\089b\089c\089d\089e\089f\08ca\08cb\08cc\08cd\08ce\08cf\08d0\08d1\08d2\08d3'
    '\08d4\08d5\08d6\08d7\08d8\08d9\08da\08db\08dc\08dd\08de\08df\08e0\08e1\08e3\08e4'
    '\08e5\08e6\08e7\08e8\08e9\08ea\08eb\08ec\08ed\08ee\08ef\08f0\08f1\08f2\08f3\08f4'
    '\08f5\08f6\08f7\08f8\08f9\08fa\08fb\08fc\08fd\08fe\08ff\0900\0901\0902\093a\093c'
    '\0941\0942\0943\0944\0945\0946\0947\0948\094d\0951\0952\0953\0954\0955\0956\0957'
    '\0962\0963\0981\09bc\09c1\09c2\09c3\09c4\09cd\09e2\09e3\09fe\0a01\0a02\0a3c\0a41'
    '\0a42\0a47\0a48\0a4b\0a4c\0a4d\0a51\0a70\0a71\0a75\0a81\0a82\0abc\0ac1\0ac2\0ac3'
    '\0ac4\0ac5\0ac7\0ac8\0acd\0ae2\0ae3\0afa\0afb\0afc\0afd\0afe\0aff\0b01\0b3c\0b3f'
    '\0b41\0b42\0b43\0b44\0b4d\0b55\0b56\0b62\0b63\0b82\0bc0\0bcd\0c00\0c04\0c3c\0c3e'
    '\0c3f\0c40\0c46\0c47\0c48\0c4a\0c4b\0c4c\0c4d\0c55\0c56\0c62\0c63\0c81\0cbc\0cbf'
    '\0cc6\0ccc\0ccd\0ce2\0ce3\0d00\0d01\0d3b\0d3c\0d41\0d42\0d43\0d44\0d4d\0d62\0d63'
    '\0d81\0dca\0dd2\0dd3\0dd4\0dd6\0e31\0e34\0e35\0e36\0e37\0e38\0e39\0e3a\0e47\0e48'
    '\0e49\0e4a\0e4b\0e4c\0e4d\0e4e\0eb1\0eb4\0eb5\0eb6\0eb7\0eb8\0eb9\0eba\0ebb\0ebc'
    '\0ec8\0ec9\0eca\0ecb\0ecc\0ecd\0f18\0f19\0f35\0f37\0f39\0f71\0f72\0f73\0f74\0f75'
    '\0f76\0f77\0f78\0f79\0f7a\0f7b\0f7c\0f7d\0f7e\0f80\0f81\0f82\0f83\0f84\0f86\0f87'
    '\0f8d\0f8e\0f8f\0f90\0f91\0f92\0f93\0f94\0f95\0f96\0f97\0f99\0f9a\0f9b\0f9c\0f9d'
    '\0f9e\0f9f\0fa0\0fa1\0fa2\0fa3\0fa4\0fa5\0fa6\0fa7\0fa8\0fa9\0faa\0fab\0fac\0fad'
    '\0fae\0faf\0fb0\0fb1\0fb2\0fb3\0fb4\0fb5\0fb6\0fb7\0fb8\0fb9\0fba\0fbb\0fbc\0fc6'
    '\102d\102e\102f\1030\1032\1033\1034\1035\1036\1037\1039\103a\103d\103e\1058\1059'
    '\105e\105f\1060\1071\1072\1073\1074\1082\1085\1086\108d\109d\135d\135e\135f\1712'
    '\1713\1714\1732\1733\1752\1753\1772\1773\17b4\17b5\17b7\17b8\17b9\17ba\17bb\17bc'
    '\17bd\17c6\17c9\17ca\17cb\17cc\17cd\17ce\17cf\17d0\17d1\17d2\17d3\17dd\180b\180c'
    '\180d\180f\1885\1886\18a9\1920\1921\1922\1927\1928\1932\1939\193a\193b\1a17\1a18'
    '\1a1b\1a56\1a58\1a59\1a5a\1a5b\1a5c\1a5d\1a5e\1a60\1a62\1a65\1a66\1a67\1a68\1a69'
    '\1a6a\1a6b\1a6c\1a73\1a74\1a75\1a76\1a77\1a78\1a79\1a7a\1a7b\1a7c\1a7f\1b00\1b01'
    '\1b02\1b03\1b34\1b36\1b37\1b38\1b39\1b3a\1b3c\1b42\1b6b\1b6c\1b6d\1b6e\1b6f\1b70'
    '\1b71\1b72\1b73\1b80\1b81\1ba2\1ba3\1ba4\1ba5\1ba8\1ba9\1bab\1bac\1bad\1be6\1be8'
    '\1be9\1bed\1bef\1bf0\1bf1\1c2c\1c2d\1c2e\1c2f\1c30\1c31\1c32\1c33\1c36\1c37\1cd0'
    '\1cd1\1cd2\1cd4\1cd5\1cd6\1cd7\1cd8\1cd9\1cda\1cdb\1cdc\1cdd\1cde\1cdf\1ce0\1ce2'
    '\1ce3\1ce4\1ce5\1ce6\1ce7\1ce8\1ced\1cf4\1cf8\1cf9\2cef\2cf0\2cf1\2d7f\2de0\2de1'
    '\2de2\2de3\2de4\2de5\2de6\2de7\2de8\2de9\2dea\2deb\2dec\2ded\2dee\2def\2df0\2df1'
    '\2df2\2df3\2df4\2df5\2df6\2df7\2df8\2df9\2dfa\2dfb\2dfc\2dfd\2dfe\2dff\302a\302b'
    '\302c\302d\a66f\a674\a675\a676\a677\a678\a679\a67a\a67b\a67c\a67d\a69e\a69f\a6f0'
    '\a6f1\a802\a806\a80b\a825\a826\a82c\a8c4\a8c5\a8e0\a8e1\a8e2\a8e3\a8e4\a8e5\a8e6'
    '\a8e7\a8e8\a8e9\a8ea\a8eb\a8ec\a8ed\a8ee\a8ef\a8f0\a8f1\a8ff\a926\a927\a928\a929'
    '\a92a\a92b\a92c\a92d\a947\a948\a949\a94a\a94b\a94c\a94d\a94e\a94f\a950\a951\a980'
    '\a981\a982\a9b3\a9b6\a9b7\a9b8\a9b9\a9bc\a9bd\a9e5\aa29\aa2a\aa2b\aa2c\aa2d\aa2e'
    '\aa31\aa32\aa35\aa36\aa43\aa4c\aa7c\aab0\aab2\aab3\aab4\aab7\aab8\aabe\aabf\aac1'
    '\aaec\aaed\aaf6\abe5\abe8\abed\fb1e';
comment on function tool_rag._marks() is 'Vowel signs, viramas and tone marks.';

create or replace function tool_rag._stand_ins() returns text
language sql immutable parallel safe
return U&'\a000\a001\a002\a003\a004\a005\a006\a007\a008\a009\a00a\a00b\a00c\a00d\a00e\a00f'
    '\a010\a011\a012\a013\a014\a015\a016\a017\a018\a019\a01a\a01b\a01c\a01d\a01e\a01f'
    '\a020\a021\a022\a023\a024\a025\a026\a027\a028\a029\a02a\a02b\a02c\a02d\a02e\a02f'
    '\a030\a031\a032\a033\a034\a035\a036\a037\a038\a039\a03a\a03b\a03c\a03d\a03e\a03f'
    '\a040\a041\a042\a043\a044\a045\a046\a047\a048\a049\a04a\a04b\a04c\a04d\a04e\a04f'
    '\a050\a051\a052\a053\a054\a055\a056\a057\a058\a059\a05a\a05b\a05c\a05d\a05e\a05f'
    '\a060\a061\a062\a063\a064\a065\a066\a067\a068\a069\a06a\a06b\a06c\a06d\a06e\a06f'
    '\a070\a071\a072\a073\a074\a075\a076\a077\a078\a079\a07a\a07b\a07c\a07d\a07e\a07f'
    '\a080\a081\a082\a083\a084\a085\a086\a087\a088\a089\a08a\a08b\a08c\a08d\a08e\a08f'
    '\a090\a091\a092\a093\a094\a095\a096\a097\a098\a099\a09a\a09b\a09c\a09d\a09e\a09f'
    '\a0a0\a0a1\a0a2\a0a3\a0a4\a0a5\a0a6\a0a7\a0a8\a0a9\a0aa\a0ab\a0ac\a0ad\a0ae\a0af'
    '\a0b0\a0b1\a0b2\a0b3\a0b4\a0b5\a0b6\a0b7\a0b8\a0b9\a0ba\a0bb\a0bc\a0bd\a0be\a0bf'
    '\a0c0\a0c1\a0c2\a0c3\a0c4\a0c5\a0c6\a0c7\a0c8\a0c9\a0ca\a0cb\a0cc\a0cd\a0ce\a0cf'
    '\a0d0\a0d1\a0d2\a0d3\a0d4\a0d5\a0d6\a0d7\a0d8\a0d9\a0da\a0db\a0dc\a0dd\a0de\a0df'
    '\a0e0\a0e1\a0e2\a0e3\a0e4\a0e5\a0e6\a0e7\a0e8\a0e9\a0ea\a0eb\a0ec\a0ed\a0ee\a0ef'
    '\a0f0\a0f1\a0f2\a0f3\a0f4\a0f5\a0f6\a0f7\a0f8\a0f9\a0fa\a0fb\a0fc\a0fd\a0fe\a0ff'
    '\a100\a101\a102\a103\a104\a105\a106\a107\a108\a109\a10a\a10b\a10c\a10d\a10e\a10f'
    '\a110\a111\a112\a113\a114\a115\a116\a117\a118\a119\a11a\a11b\a11c\a11d\a11e\a11f'
    '\a120\a121\a122\a123\a124\a125\a126\a127\a128\a129\a12a\a12b\a12c\a12d\a12e\a12f'
    '\a130\a131\a132\a133\a134\a135\a136\a137\a138\a139\a13a\a13b\a13c\a13d\a13e\a13f'
    '\a140\a141\a142\a143\a144\a145\a146\a147\a148\a149\a14a\a14b\a14c\a14d\a14e\a14f'
    '\a150\a151\a152\a153\a154\a155\a156\a157\a158\a159\a15a\a15b\a15c\a15d\a15e\a15f'
    '\a160\a161\a162\a163\a164\a165\a166\a167\a168\a169\a16a\a16b\a16c\a16d\a16e\a16f'
    '\a170\a171\a172\a173\a174\a175\a176\a177\a178\a179\a17a\a17b\a17c\a17d\a17e\a17f'
    '\a180\a181\a182\a183\a184\a185\a186\a187\a188\a189\a18a\a18b\a18c\a18d\a18e\a18f'
    '\a190\a191\a192\a193\a194\a195\a196\a197\a198\a199\a19a\a19b\a19c\a19d\a19e\a19f'
    '\a1a0\a1a1\a1a2\a1a3\a1a4\a1a5\a1a6\a1a7\a1a8\a1a9\a1aa\a1ab\a1ac\a1ad\a1ae\a1af'
    '\a1b0\a1b1\a1b2\a1b3\a1b4\a1b5\a1b6\a1b7\a1b8\a1b9\a1ba\a1bb\a1bc\a1bd\a1be\a1bf'
    '\a1c0\a1c1\a1c2\a1c3\a1c4\a1c5\a1c6\a1c7\a1c8\a1c9\a1ca\a1cb\a1cc\a1cd\a1ce\a1cf'
    '\a1d0\a1d1\a1d2\a1d3\a1d4\a1d5\a1d6\a1d7\a1d8\a1d9\a1da\a1db\a1dc\a1dd\a1de\a1df'
    '\a1e0\a1e1\a1e2\a1e3\a1e4\a1e5\a1e6\a1e7\a1e8\a1e9\a1ea\a1eb\a1ec\a1ed\a1ee\a1ef'
    '\a1f0\a1f1\a1f2\a1f3\a1f4\a1f5\a1f6\a1f7\a1f8\a1f9\a1fa\a1fb\a1fc\a1fd\a1fe\a1ff'
    '\a200\a201\a202\a203\a204\a205\a206\a207\a208\a209\a20a\a20b\a20c\a20d\a20e\a20f'
    '\a210\a211\a212\a213\a214\a215\a216\a217\a218\a219\a21a\a21b\a21c\a21d\a21e\a21f'
    '\a220\a221\a222\a223\a224\a225\a226\a227\a228\a229\a22a\a22b\a22c\a22d\a22e\a22f'
    '\a230\a231\a232\a233\a234\a235\a236\a237\a238\a239\a23a\a23b\a23c\a23d\a23e\a23f'
    '\a240\a241\a242\a243\a244\a245\a246\a247\a248\a249\a24a\a24b\a24c\a24d\a24e\a24f'
    '\a250\a251\a252\a253\a254\a255\a256\a257\a258\a259\a25a\a25b\a25c\a25d\a25e\a25f'
    '\a260\a261\a262\a263\a264\a265\a266\a267\a268\a269\a26a\a26b\a26c\a26d\a26e\a26f'
    '\a270\a271\a272\a273\a274\a275\a276\a277\a278\a279\a27a\a27b\a27c\a27d\a27e\a27f'
    '\a280\a281\a282\a283\a284\a285\a286\a287\a288\a289\a28a\a28b\a28c\a28d\a28e\a28f'
    '\a290\a291\a292\a293\a294\a295\a296\a297\a298\a299\a29a\a29b\a29c\a29d\a29e\a29f'
    '\a2a0\a2a1\a2a2\a2a3\a2a4\a2a5\a2a6\a2a7\a2a8\a2a9\a2aa\a2ab\a2ac\a2ad\a2ae\a2af'
    '\a2b0\a2b1\a2b2\a2b3\a2b4\a2b5\a2b6';
comment on function tool_rag._stand_ins() is
'As many syllables of Yi, which no locale splits a word at.';

create or replace function tool_rag._carry_marks(p_text text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
-- Its escapes are read when it runs, in whatever session that is.
set standard_conforming_strings = on
as $$
    -- The parser of text search splits a word at them in some locales. Letters that no locale
    -- splits at stand in: syllables of Yi, one for one.
    select case when p_text ~ '[\u0483-\u0487\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823'
        '\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u0902\u093a\u093c'
        '\u0941-\u0948\u094d\u0951-\u0957\u0962-\u0963\u0981\u09bc\u09c1-\u09c4\u09cd\u09e2-\u09e3'
        '\u09fe\u0a01-\u0a02\u0a3c\u0a41-\u0a42\u0a47-\u0a48\u0a4b-\u0a4d\u0a51\u0a70-\u0a71\u0a75'
        '\u0a81-\u0a82\u0abc\u0ac1-\u0ac5\u0ac7-\u0ac8\u0acd\u0ae2-\u0ae3\u0afa-\u0aff\u0b01\u0b3c'
        '\u0b3f\u0b41-\u0b44\u0b4d\u0b55-\u0b56\u0b62-\u0b63\u0b82\u0bc0\u0bcd\u0c00\u0c04\u0c3c'
        '\u0c3e-\u0c40\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c62-\u0c63\u0c81\u0cbc\u0cbf\u0cc6'
        '\u0ccc-\u0ccd\u0ce2-\u0ce3\u0d00-\u0d01\u0d3b-\u0d3c\u0d41-\u0d44\u0d4d\u0d62-\u0d63\u0d81'
        '\u0dca\u0dd2-\u0dd4\u0dd6\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd'
        '\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f7e\u0f80-\u0f84\u0f86-\u0f87\u0f8d-\u0f97'
        '\u0f99-\u0fbc\u0fc6\u102d-\u1030\u1032-\u1037\u1039-\u103a\u103d-\u103e\u1058-\u1059'
        '\u105e-\u1060\u1071-\u1074\u1082\u1085-\u1086\u108d\u109d\u135d-\u135f\u1712-\u1714'
        '\u1732-\u1733\u1752-\u1753\u1772-\u1773\u17b4-\u17b5\u17b7-\u17bd\u17c6\u17c9-\u17d3\u17dd'
        '\u180b-\u180d\u180f\u1885-\u1886\u18a9\u1920-\u1922\u1927-\u1928\u1932\u1939-\u193b'
        '\u1a17-\u1a18\u1a1b\u1a56\u1a58-\u1a5e\u1a60\u1a62\u1a65-\u1a6c\u1a73-\u1a7c\u1a7f'
        '\u1b00-\u1b03\u1b34\u1b36-\u1b3a\u1b3c\u1b42\u1b6b-\u1b73\u1b80-\u1b81\u1ba2-\u1ba5'
        '\u1ba8-\u1ba9\u1bab-\u1bad\u1be6\u1be8-\u1be9\u1bed\u1bef-\u1bf1\u1c2c-\u1c33\u1c36-\u1c37'
        '\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced\u1cf4\u1cf8-\u1cf9\u2cef-\u2cf1\u2d7f'
        '\u2de0-\u2dff\u302a-\u302d\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua802\ua806\ua80b'
        '\ua825-\ua826\ua82c\ua8c4-\ua8c5\ua8e0-\ua8f1\ua8ff\ua926-\ua92d\ua947-\ua951\ua980-\ua982'
        '\ua9b3\ua9b6-\ua9b9\ua9bc-\ua9bd\ua9e5\uaa29-\uaa2e\uaa31-\uaa32\uaa35-\uaa36\uaa43\uaa4c'
        '\uaa7c\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\uaaec-\uaaed\uaaf6\uabe5\uabe8'
        '\uabed\ufb1e]' then translate(
        p_text, tool_rag._marks(), tool_rag._stand_ins()
    ) else p_text end
$$;
comment on function tool_rag._carry_marks(text) is
'Vowel signs, viramas and tone marks as letters, so that words keep them in any locale.';

create or replace function tool_rag._restore_marks(p_text text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case when tool_rag._is_ascii(p_text) then p_text else translate(
        p_text, tool_rag._stand_ins(), tool_rag._marks()
    ) end
$$;
comment on function tool_rag._restore_marks(text) is
'What _carry_marks replaced, for people to read.';

create or replace function tool_rag._lexical_text(p_text text) returns text
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    v_text text := p_text;
begin
    -- getUserInfo is found by "user info" and by "getuserinfo": the parts stand beside the whole.
    if v_text ~ '[a-z0-9][A-Z]|[A-Z][A-Z][a-z]' then
        v_text := v_text || coalesce((
            select string_agg(
                ' ' || regexp_replace(
                    regexp_replace(m[1], '([a-z0-9])([A-Z])', '\1 \2', 'g'),
                    '([A-Z])([A-Z][a-z])', '\1 \2', 'g'
                ), ''
            )
            from regexp_matches(
                v_text, '([A-Za-z0-9]*(?:[a-z0-9][A-Z]|[A-Z][A-Z][a-z])[A-Za-z0-9]*)', 'g'
            ) m
        ), '');
    end if;
    if tool_rag._is_ascii(v_text) then
        return regexp_replace(lower(v_text collate "C"), '[^a-z0-9]+', ' ', 'g');
    end if;
    -- Compatibility forms become plain ones, accents go, vowel signs and the like become letters,
    -- and what is left is composed again.
    v_text := tool_rag._carry_marks(tool_rag._lower(regexp_replace(
        normalize(v_text, nfkd),
        '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f'
        '\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u1ab0-\u1ace\u1dc0-\u1dff'
        '\u20d0-\u20f0\ufe20-\ufe2f\ufe00-\ufe0f\U000101fd\U000102e0\U00010376-\U0001037a'
        '\U00010a01-\U00010a03\U00010a05-\U00010a06\U00010a0c-\U00010a0f\U00010a38-\U00010a3a'
        '\U00010a3f\U00010ae5-\U00010ae6\U00011001\U00011038-\U00011046\U0001107f-\U00011081'
        '\U000110b3-\U000110b6\U000110b9-\U000110ba\U00011100-\U00011102\U00011127-\U0001112b'
        '\U0001112d-\U00011134\U00011173\U00011180-\U00011181\U000111b6-\U000111be'
        '\U000111ca-\U000111cc\U0001122f-\U00011231\U00011234\U00011236-\U00011237\U000112df'
        '\U000112e3-\U000112ea\U00011300-\U00011301\U0001133c\U00011340\U00011366-\U0001136c'
        '\U00011370-\U00011374\U000114b3-\U000114b8\U000114ba\U000114bf-\U000114c0'
        '\U000114c2-\U000114c3\U000115b2-\U000115b5\U000115bc-\U000115bd\U000115bf-\U000115c0'
        '\U000115dc-\U000115dd\U00011633-\U0001163a\U0001163d\U0001163f-\U00011640\U000116ab'
        '\U000116ad\U000116b0-\U000116b5\U000116b7\U0001171d-\U0001171f\U00011722-\U00011725'
        '\U00011727-\U0001172b\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016f8f-\U00016f92'
        '\U0001bc9d-\U0001bc9e\U0001d167-\U0001d169\U0001d17b-\U0001d182\U0001d185-\U0001d18b'
        '\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001da00-\U0001da36\U0001da3b-\U0001da6c'
        '\U0001da75\U0001da84\U0001da9b-\U0001da9f\U0001daa1-\U0001daaf\U0001e8d0-\U0001e8d6'
        '\U000e0100-\U000e01ef]', '', 'g'
    )));
    v_text := regexp_replace(
        normalize(v_text, nfkc),
        '[\u0001-/:-@\[-`{-\u007f'
        '\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u02c2-\u02c5\u02d2-\u02df'
        '\u02e5-\u02eb\u02ed\u02ef-\u02ff\u0375\u037e\u0384-\u0385\u0387\u03f6\u0482\u0488-\u0489'
        '\u055a-\u055f\u0589-\u058a\u058d-\u058f\u05be\u05c0\u05c3\u05c6\u05f3-\u05f4\u0600-\u060f'
        '\u061b-\u061f\u066a-\u066d\u06d4\u06dd-\u06de\u06e9\u06fd-\u06fe\u0700-\u070d\u070f'
        '\u07f6-\u07f9\u07fe-\u07ff\u0830-\u083e\u085e\u0888\u0890-\u0891\u08e2\u0964-\u0965\u0970'
        '\u09f2-\u09fb\u09fd\u0a76\u0af0-\u0af1\u0b70\u0b72-\u0b77\u0bf0-\u0bfa\u0c77-\u0c7f\u0c84'
        '\u0d4f\u0d58-\u0d5e\u0d70-\u0d79\u0df4\u0e3f\u0e4f\u0e5a-\u0e5b\u0f01-\u0f17\u0f1a-\u0f1f'
        '\u0f2a-\u0f34\u0f36\u0f38\u0f3a-\u0f3d\u0f85\u0fbe-\u0fc5\u0fc7-\u0fcc\u0fce-\u0fda'
        '\u104a-\u104f\u109e-\u109f\u10fb\u1360-\u137c\u1390-\u1399\u1400\u166d-\u166e\u1680'
        '\u169b-\u169c\u16eb-\u16ed\u1735-\u1736\u17d4-\u17d6\u17d8-\u17db\u17f0-\u17f9'
        '\u1800-\u180a\u180e\u1940\u1944-\u1945\u19da\u19de-\u19ff\u1a1e-\u1a1f\u1aa0-\u1aa6'
        '\u1aa8-\u1aad\u1abe\u1b5a-\u1b6a\u1b74-\u1b7e\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f'
        '\u1cc0-\u1cc7\u1cd3\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed-\u1fef\u1ffd-\u1ffe'
        '\u2000-\u2064\u2066-\u2070\u2074-\u207e\u2080-\u208e\u20a0-\u20c0\u20dd-\u20e0'
        '\u20e2-\u20e4\u2100-\u2101\u2103-\u2106\u2108-\u2109\u2114\u2116-\u2118\u211e-\u2123\u2125'
        '\u2127\u2129\u212e\u213a-\u213b\u2140-\u2144\u214a-\u214d\u214f-\u215f\u2189-\u218b'
        '\u2190-\u2426\u2440-\u244a\u2460-\u2b73\u2b76-\u2b95\u2b97-\u2bff\u2ce5-\u2cea'
        '\u2cf9-\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u2e5d\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5'
        '\u2ff0-\u2ffb\u3000-\u3004\u3008-\u3020\u3030\u3036-\u3037\u303d-\u303f\u309b-\u309c\u30a0'
        '\u30fb\u3190-\u319f\u31c0-\u31e3\u3200-\u321e\u3220-\u33ff\u4dc0-\u4dff\ua490-\ua4c6'
        '\ua4fe-\ua4ff\ua60d-\ua60f\ua670-\ua673\ua67e\ua6f2-\ua6f7\ua700-\ua716\ua720-\ua721'
        '\ua789-\ua78a\ua828-\ua82b\ua830-\ua839\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc'
        '\ua92e-\ua92f\ua95f\ua9c1-\ua9cd\ua9de-\ua9df\uaa5c-\uaa5f\uaa77-\uaa79\uaade-\uaadf'
        '\uaaf0-\uaaf1\uab5b\uab6a-\uab6b\uabeb\ue000-\uf8ff\ufb29\ufbb2-\ufbc2\ufd3e-\ufd4f\ufdcf'
        '\ufdfc-\ufdff\ufe10-\ufe19\ufe30-\ufe52\ufe54-\ufe66\ufe68-\ufe6b\ufeff\uff01-\uff0f'
        '\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffe6\uffe8-\uffee\ufff9-\ufffd'
        '\U00010100-\U00010102\U00010107-\U00010133\U00010137-\U0001013f\U00010175-\U0001018e'
        '\U00010190-\U0001019c\U000101a0\U000101d0-\U000101fc\U000102e1-\U000102fb'
        '\U00010320-\U00010323\U0001039f\U000103d0\U0001056f\U00010857-\U0001085f'
        '\U00010877-\U0001087f\U000108a7-\U000108af\U000108fb-\U000108ff\U00010916-\U0001091b'
        '\U0001091f\U0001093f\U000109bc-\U000109bd\U000109c0-\U000109cf\U000109d2-\U000109ff'
        '\U00010a40-\U00010a48\U00010a50-\U00010a58\U00010a7d-\U00010a7f\U00010a9d-\U00010a9f'
        '\U00010ac8\U00010aeb-\U00010af6\U00010b39-\U00010b3f\U00010b58-\U00010b5f'
        '\U00010b78-\U00010b7f\U00010b99-\U00010b9c\U00010ba9-\U00010baf\U00010cfa-\U00010cff'
        '\U00010e60-\U00010e7e\U00010ead\U00010f1d-\U00010f26\U00010f51-\U00010f59'
        '\U00010f86-\U00010f89\U00010fc5-\U00010fcb\U00011047-\U0001104d\U00011052-\U00011065'
        '\U000110bb-\U000110c1\U000110cd\U00011140-\U00011143\U00011174-\U00011175'
        '\U000111c5-\U000111c8\U000111cd\U000111db\U000111dd-\U000111df\U000111e1-\U000111f4'
        '\U00011238-\U0001123d\U000112a9\U0001144b-\U0001144f\U0001145a-\U0001145b\U0001145d'
        '\U000114c6\U000115c1-\U000115d7\U00011641-\U00011643\U00011660-\U0001166c\U000116b9'
        '\U0001173a-\U0001173f\U0001183b\U000118ea-\U000118f2\U00011944-\U00011946\U000119e2'
        '\U00011a3f-\U00011a46\U00011a9a-\U00011a9c\U00011a9e-\U00011aa2\U00011c41-\U00011c45'
        '\U00011c5a-\U00011c6c\U00011c70-\U00011c71\U00011ef7-\U00011ef8\U00011fc0-\U00011ff1'
        '\U00011fff\U00012470-\U00012474\U00012ff1-\U00012ff2\U00013430-\U00013438'
        '\U00016a6e-\U00016a6f\U00016af5\U00016b37-\U00016b3f\U00016b44-\U00016b45'
        '\U00016b5b-\U00016b61\U00016e80-\U00016e9a\U00016fe2\U0001bc9c\U0001bc9f-\U0001bca3'
        '\U0001cf50-\U0001cfc3\U0001d000-\U0001d0f5\U0001d100-\U0001d126\U0001d129-\U0001d164'
        '\U0001d16a-\U0001d16c\U0001d173-\U0001d17a\U0001d183-\U0001d184\U0001d18c-\U0001d1a9'
        '\U0001d1ae-\U0001d1ea\U0001d200-\U0001d241\U0001d245\U0001d2e0-\U0001d2f3'
        '\U0001d300-\U0001d356\U0001d360-\U0001d378\U0001d6c1\U0001d6db\U0001d6fb\U0001d715'
        '\U0001d735\U0001d74f\U0001d76f\U0001d789\U0001d7a9\U0001d7c3\U0001d800-\U0001d9ff'
        '\U0001da37-\U0001da3a\U0001da6d-\U0001da74\U0001da76-\U0001da83\U0001da85-\U0001da8b'
        '\U0001e14f\U0001e2ff\U0001e8c7-\U0001e8cf\U0001e95e-\U0001e95f\U0001ec71-\U0001ecb4'
        '\U0001ed01-\U0001ed3d\U0001eef0-\U0001eef1\U0001f000-\U0001f02b\U0001f030-\U0001f093'
        '\U0001f0a0-\U0001f0ae\U0001f0b1-\U0001f0bf\U0001f0c1-\U0001f0cf\U0001f0d1-\U0001f0f5'
        '\U0001f100-\U0001f1ad\U0001f1e6-\U0001f202\U0001f210-\U0001f23b\U0001f240-\U0001f248'
        '\U0001f250-\U0001f251\U0001f260-\U0001f265\U0001f300-\U0001f6d7\U0001f6dd-\U0001f6ec'
        '\U0001f6f0-\U0001f6fc\U0001f700-\U0001f773\U0001f780-\U0001f7d8\U0001f7e0-\U0001f7eb'
        '\U0001f7f0\U0001f800-\U0001f80b\U0001f810-\U0001f847\U0001f850-\U0001f859'
        '\U0001f860-\U0001f887\U0001f890-\U0001f8ad\U0001f8b0-\U0001f8b1\U0001f900-\U0001fa53'
        '\U0001fa60-\U0001fa6d\U0001fa70-\U0001fa74\U0001fa78-\U0001fa7c\U0001fa80-\U0001fa86'
        '\U0001fa90-\U0001faac\U0001fab0-\U0001faba\U0001fac0-\U0001fac5\U0001fad0-\U0001fad9'
        '\U0001fae0-\U0001fae7\U0001faf0-\U0001faf6\U0001fb00-\U0001fb92\U0001fb94-\U0001fbca'
        '\U000e0001\U000e0020-\U000e007f\U000f0000-\U000ffffd\U00100000-\U0010fffd]+',
        ' ', 'g'
    );
    -- Scripts written without spaces: single characters and pairs, as Lucene's CJK analyser has it.
    if v_text ~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff'
        '\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3'
        '\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134f]' then
        v_text := (
            select string_agg(coalesce(pair.text, part.m[1]), ' ' order by part.n)
            from regexp_matches(
                v_text,
                '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff'
        '\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3'
        '\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134f]'
                '[\ua000-\ua2b6\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff'
        '\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3'
        '\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134f]*'
                '|[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff'
        '\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3'
        '\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134f]+',
                'g'
            ) with ordinality part (m, n)
            left join lateral (
                select string_agg(
                    case when c.this ~ '[\ua000-\ua2b6]' then '' else c.this end
                        || coalesce(' ' || c.this || c.next, ''),
                    ' ' order by c.place
                )
                from (
                    select s.this, s.place, lead(s.this) over (order by s.place) as next
                    from unnest(string_to_array(part.m[1], null)) with ordinality s (this, place)
                ) c
                where part.m[1] ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff'
        '\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3'
        '\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U0003134f]'
            ) pair (text) on true
        );
    end if;
    return regexp_replace(v_text, ' {2,}', ' ', 'g');
end
$$;
comment on function tool_rag._lexical_text(text) is
'A text made ready for to_tsvector in any locale: identifiers split, case and accents folded, '
'punctuation out, unspaced scripts as characters and pairs.';
