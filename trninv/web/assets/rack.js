import{i as e,m as t,s as n}from"./api.js";import{c as r,i,r as a,s as o}from"./parts.js";import{t as s}from"./picture.js";import{r as c,t as l}from"./jsxRuntime.js";import{l as u,n as d,r as f}from"./words.js";var p=e(`
  query Rack($address: Address!) {
    resolve(address: $address) {
      ... on Rack {
        address ordinal
        cluster { slug racks(first: 1) { totalCount } }
        facts { attribute value quote formula assumed source { title } }
        servers(first: 18) {
          nodes {
            model
            domain { address }
            facts { attribute value quote formula assumed source { title } }
          }
        }
      }
    }
    switches(filter: { rack: { eq: $address } }, first: 1) { totalCount }
  }
`);function m({route:e}){let r=n(p,{address:e.subject});return l(o,{result:t(r),page:e.subject,children:({resolve:t,switches:n})=>`servers`in t?l(h,{rack:t,switches:n.totalCount,query:r}):l(`p`,{class:`failure`,children:[e.subject,` is not a rack.`]})})}function h({rack:e,switches:t,query:n}){let o=e.cluster.racks.totalCount,p=t=>t>=0&&t<o?`${e.cluster.slug}/r${t}`:null,m=[...new Set(e.servers.nodes.map(e=>e.domain.address))],h=new Map(e.servers.nodes.flatMap(e=>e.facts.map(t=>[d(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))),[g,_]=[p(e.ordinal-1),p(e.ordinal+1)];return l(`article`,{children:[l(`header`,{class:`title`,children:[l(`h1`,{children:e.address}),l(`p`,{children:[u(e.servers.nodes.length,`server`),` of`,` `,m.map(e=>l(`a`,{href:c(`domain`,e),children:e},e))]}),l(`nav`,{class:`tools`,"aria-label":`Racks`,children:[g&&l(`a`,{href:c(`rack`,g),children:[`← `,g]}),_&&l(`a`,{href:c(`rack`,_),children:[_,` →`]}),l(a,{queries:[n]}),l(i,{name:e.address,picture:r(`rack`)})]})]}),l(`div`,{class:`split`,children:[l(`section`,{class:`card`,"aria-label":`Elevation`,children:l(s,{name:`rack`,options:{scope:e.address}})}),l(`section`,{class:`answers`,"aria-label":`Documented facts`,children:l(`div`,{class:`card`,children:[l(`h2`,{children:`Documented facts`}),l(`ul`,{children:[...e.facts.map(e=>[d(`rack`,e.attribute),e]),...h].map(([e,t])=>l(`li`,{children:[e,`: `,l(`strong`,{children:t.value}),`, `,t.source.title,`: `,f(t),t.assumed&&l(`span`,{class:`assumed`,children:` assumed`})]},e))}),t>0&&l(`p`,{children:[`This rack also holds `,u(t,`switch`),`. Their rack units are not documented.`]})]})})]})]})}export{m as RackView};